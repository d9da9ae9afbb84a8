# cmake -DOUTPUT=FILE.cpp -DFOLDER=FOLDER -DFILES=A,B -P EmbedFiles.cmake
# Writes the files as arrays of bytes, to be found by name (apps/serve/embedded.h).
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(name ${FILES})
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "const unsigned char file_${number}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", {reinterpret_cast<const char*>(file_${number}), sizeof file_${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"apps/serve/embedded.h\"

namespace lockring::app::serve {
namespace {

${arrays}
const EmbeddedFile kFiles[] = {
${rows}};

}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }

}  // namespace lockring::app::serve
")
