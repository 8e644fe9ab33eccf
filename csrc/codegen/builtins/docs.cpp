// SPDX-License-Identifier: Apache-2.0
// docs.cpp: the table of builtins as a page of documentation.
#include <map>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/support/text.h"

namespace wt::builtins {
namespace {

std::string_view gradient_text(const BuiltinDef& def) {
  switch (def.grad) {
    case Grad::kRule:
      return "yes";
    case Grad::kZero:
      return "zero";
    case Grad::kNative:
      return "yes";
    default:
      return "none";
  }
}

/// `|` would end a cell of the table.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string doc_markdown() {
  std::vector<std::string_view> groups;
  std::map<std::string_view, std::string> lines;
  for (const BuiltinDef* def : all_rows()) {
    if (def->name.starts_with('_')) continue;
    if (!lines.count(def->group)) groups.push_back(def->group);
    append(lines[def->group], "| `", def->name, cell(def->sig), "` | ", cell(def->doc), " | ",
           gradient_text(*def), " |\n");
  }
  std::string out =
      "# Builtins\n\nWritten by wt_docs from the table; tests/builtins compares.\nIn signatures F "
      "is a float type, I an integer type, S any of both, T any type, "
      "N, M and K sizes.\nAn `inout` argument is changed in place. The last column says whether a "
      "derivative is known.\n";
  for (std::string_view group : groups) {
    append(out, "\n## ", group, "\n\n| signature | meaning | derivative |\n| --- | --- | --- |\n",
           lines[group]);
  }
  return out;
}

}  // namespace wt::builtins
