// SPDX-License-Identifier: Apache-2.0
// node.h: nodes of PyTorch's graph, over the two ways in which its versions count references to
// them: a shared_ptr, or (2.15) a count inside the node.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <type_traits>

namespace wt::torch_ext {

inline constexpr bool kSharedNodes = std::is_same_v<decltype(torch::autograd::Edge::function),
                                                    std::shared_ptr<torch::autograd::Node>>;

template <class N>
using NodePtr = std::conditional_t<kSharedNodes, std::shared_ptr<N>, c10::intrusive_ptr<N>>;

template <class N, class... Args>
NodePtr<N> new_node(Args&&... args) {
  if constexpr (kSharedNodes) {
    // deleteNode is found by the argument's type: newer versions do not have it.
    return NodePtr<N>(new N(std::forward<Args>(args)...), [](auto* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<N>(std::forward<Args>(args)...);
  }
}

}  // namespace wt::torch_ext
