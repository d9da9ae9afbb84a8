#include "apps/workflow/yaml.h"

#include "core/error.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace lockring::app::workflow {
namespace {

// A bomb of aliases stops here; a workflow of thousands of steps does not.
constexpr std::size_t kMostNodes = 1'000'000;

Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

std::size_t count_nodes(const YamlNode& node) {
  std::size_t count = 1;
  for (const YamlNode& item : node.items) count += count_nodes(item);
  for (const YamlEntry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

// Builds the tree from the parser's events: unlike yaml-cpp's own tree it keeps the places of keys, and sees keys that
// come twice.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({.place = place_of(mark), .text = {}, .items = {}, .entries = {}}, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add({.kind = YamlNode::Kind::scalar,
         .place = place_of(mark),
         .text = value,
         .plain = tag == "?",
         .items = {},
         .entries = {}},
        anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) fail_at(file_, place_of(mark), "an alias of what contains it");
    YamlNode copy = known->second;
    nodes_ += count_nodes(copy);
    add(std::move(copy), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map whose end has not been seen yet.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    Place key_place;
    std::set<std::string> merged;  // keys that came with "<<" and give way to the map's own
  };

  void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const Place place = place_of(mark);
    if (!open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().has_key)
      fail_at(file_, place, "a key is a word, not a list or a map");
    Open& opened = open_.emplace_back();
    opened.node.kind = kind;
    opened.node.place = place;
    opened.anchor = anchor;
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    add(std::move(closed.node), closed.anchor);
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    if (++nodes_ > kMostNodes) fail_at(file_, node.place, "the aliases make the text too large");
    if (anchor != 0) {  // kept for aliases: a copy as well
      nodes_ += count_nodes(node);
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.kind == YamlNode::Kind::list) {
      open_.back().node.items.push_back(std::move(node));
    } else {
      add_to_map(open_.back(), std::move(node));
    }
  }

  void add_to_map(Open& map, YamlNode node) {
    if (!map.has_key) {
      if (node.kind != YamlNode::Kind::scalar) fail_at(file_, node.place, "a key is a word, found nothing");
      map.has_key = true;
      map.key = node.text;
      map.key_place = node.place;
      return;
    }
    map.has_key = false;
    if (map.key == "<<") return merge(map, node);
    for (const YamlEntry& entry : map.node.entries)
      if (entry.key == map.key && !map.merged.contains(map.key))
        fail_at(file_, map.key_place, fmt::format("'{}' is there twice; first in line {}", map.key, entry.place.line));
    map.merged.erase(map.key);
    std::erase_if(map.node.entries, [&](const YamlEntry& entry) { return entry.key == map.key; });
    map.node.entries.push_back({map.key, map.key_place, std::move(node)});
  }

  void merge(Open& map, const YamlNode& from) {
    if (from.kind == YamlNode::Kind::list) {
      for (const YamlNode& item : from.items) merge(map, item);
      return;
    }
    if (from.kind != YamlNode::Kind::map) fail_at(file_, map.key_place, "'<<' takes a map");
    for (const YamlEntry& entry : from.entries) {
      if (map.node.find(entry.key) != nullptr) continue;
      map.node.entries.push_back(entry);
      map.merged.insert(entry.key);
    }
  }

  const std::string& file_;
  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::string_view YamlNode::kind_name() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return "a word";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &YamlEntry::key);
  return found == entries.end() ? nullptr : &found->value;
}

void fail_at(const std::string& file, Place place, const std::string& message) {
  fail(ErrorCode::data, "{}:{}:{}: {}", file, place.line, place.column, message);
}

YamlNode parse_yaml(std::string_view text, const std::string& file) {
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    TreeBuilder rest(file);
    if (parser.HandleNextDocument(rest)) fail_at(file, rest.take().place, "a second document in one file");
  } catch (const YAML::Exception& error) {
    fail_at(file, error.mark.is_null() ? Place{} : place_of(error.mark), error.msg);
  }
  return builder.take();
}

}  // namespace lockring::app::workflow
