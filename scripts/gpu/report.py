"""What was found out, for programs and for readers."""
import json


def passed(results):
    return all(part["ok"] for part in results["parts"].values())


def write(folder, results):
    """Both files, whole or not at all."""
    for name, text in {"report.json": json.dumps(results, indent=1) + "\n", "report.md": as_text(results)}.items():
        partial = folder / f"{name}.partial"
        partial.write_text(text)
        partial.rename(folder / name)


def number(value):
    """Three or four digits that matter, as people read them."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if not isinstance(value, (int, float)):
        return str(value).replace("|", "/").replace("\n", " ")
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(rows):
    """Rows are dictionaries; a column for each key of any of them."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(number(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def as_text(results):
    lines = ["# Lockring on " + results["parts"].get("machine", {}).get("name", results["device"]), ""]
    failed = [name for name, part in results["parts"].items() if not part["ok"]]
    lines.append(f"{len(results['parts'])} parts, " + (f"failed: {', '.join(failed)}" if failed else "all passed") + ".")
    for name, part in results["parts"].items():
        lines += ["", f"## {name}: {'passed' if part['ok'] else 'FAILED'} ({part.get('seconds', 0)} s)"]
        if part.get("rows"):
            lines += ["", table(part["rows"])]
        lines += [f"- {note}" for note in part.get("notes", [])]
    return "\n".join(lines) + "\n"
