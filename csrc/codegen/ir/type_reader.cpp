// SPDX-License-Identifier: Apache-2.0
// type_reader.cpp: reads types in the text form.
#include "csrc/codegen/ir/type_reader.h"

#include <limits>

#include "csrc/codegen/support/error.h"

namespace wt::ir {

int TypeReader::size() {
  const AttrValue n = in_.number();
  const int64_t* i = std::get_if<int64_t>(&n);
  if (!i || *i < 0 || *i > std::numeric_limits<int>::max()) in_.fail("expected a size");
  return static_cast<int>(*i);
}

Scalar TypeReader::scalar() {
  const std::string word = in_.name("a scalar type");
  Scalar s{};
  if (!scalar_from_string(word, &s)) in_.fail(cat("no scalar type ", word));
  return s;
}

Type TypeReader::type() {
  const std::string word = in_.name("a type");
  Scalar s{};
  if (scalar_from_string(word, &s)) return scalar_type(s);
  if (word == "str") return str_type();
  in_.expect('<');
  const Type t = arguments(word);
  in_.expect('>');
  return t;
}

Type TypeReader::arguments(const std::string& word) {
  if (word == "quat") return quat_type(scalar());
  if (word == "xform") return xform_type(scalar());
  if (word == "hist") return hist_type(type());
  if (word == "vec" || word == "mat") {
    const int rows = size();
    in_.expect(',');
    if (word == "vec") return vec_type(rows, scalar());
    const int cols = size();
    in_.expect(',');
    return mat_type(rows, cols, scalar());
  }
  if (word == "array") {
    const Type elem = type();
    in_.expect(',');
    const int ndim = size();
    if (ndim < 1 || ndim > 4) in_.fail("an array has 1 to 4 dimensions");
    return array_type(elem, ndim);
  }
  if (word == "local") {
    const Type elem = type();
    std::vector<int> dims;
    while (in_.eat(',')) dims.push_back(size());
    if (dims.empty()) in_.fail("local wants a shape");
    return local_type(elem, std::move(dims));
  }
  if (word != "struct") in_.fail(cat("no type ", word));
  const std::string name = in_.name("a struct name");
  const auto it = structs_.find(name);
  if (it == structs_.end()) in_.fail(cat("struct ", name, " is not declared"));
  return it->second;
}

Type parse_type(std::string_view text, const StructTable& structs) {
  Cursor in(text);
  const Type t = TypeReader(in, structs).type();
  if (!in.at_end()) in.fail(cat("unexpected '", in.excerpt(), "' after a type"));
  return t;
}

}  // namespace wt::ir
