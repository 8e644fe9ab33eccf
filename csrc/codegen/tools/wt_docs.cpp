// SPDX-License-Identifier: Apache-2.0
// wt_docs.cpp: writes the page of documentation of all builtins: wt_docs > docs/builtins.md
#include <iostream>

#include "csrc/codegen/builtins/registry.h"

int main() {
  std::cout << wt::builtins::doc_markdown();
  return 0;
}
