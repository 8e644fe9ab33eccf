// SPDX-License-Identifier: Apache-2.0
// wt_lower.cpp: Source AST text in, IR text out.
//   wt_lower ENTRY [TYPE...] < unit.ast      types of the generic parameters, in order
//   wt_lower --print < unit.ast              the unit again, in canonical form
// Prints the error and ends with 1 where the kernel is wrong.
#include <iostream>
#include <iterator>

#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/lower/lower.h"
#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/support/error.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: wt_lower ENTRY [TYPE...] | --print < unit.ast\n";
    return 2;
  }
  try {
    const std::string text((std::istreambuf_iterator<char>(std::cin)), {});
    const auto unit = wt::ast::default_frontend().parse(text);
    if (std::string_view(argv[1]) == "--print") {
      std::cout << wt::ast::print(*unit);
      return 0;
    }
    const wt::lower_detail::TypeTable types(*unit);
    std::vector<wt::ir::Type> generics;
    for (int i = 2; i < argc; ++i) generics.push_back(types.parse(argv[i]));
    const auto module = wt::lower(*unit, argv[1], generics);
    wt::ir::verify(*module, "lower");
    std::cout << wt::ir::print(*module);
  } catch (const wt::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
