// SPDX-License-Identifier: Apache-2.0
// train_arm.cpp: a policy learns to hold a two-link arm at targets, with LibTorch
// and a kernel from a file that save_step.py made. No Python takes part.
#include <torch/torch.h>
#include <warp_torch/ops.h>

#include <cstdio>
#include <stdexcept>

namespace {

constexpr int64_t kArms = 256;
constexpr int kSteps = 32;
constexpr int kIterations = 150;
constexpr double kDt = 0.01;

struct Policy : torch::nn::Module {
  Policy() {
    const int64_t widths[] = {6, 64, 64, 2};
    for (int i = 0; i < 3; ++i) {
      layers->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
      if (i < 2) layers->push_back(torch::nn::ELU());
    }
    register_module("layers", layers);
  }
  /// Torque (arms, 2) in N m.
  torch::Tensor forward(const torch::Tensor& q, const torch::Tensor& v, const torch::Tensor& goal) {
    return 60.0 * torch::tanh(layers->forward(torch::cat({q, v, goal}, 1)));
  }
  torch::nn::Sequential layers;
};

/// Mean over arms of the squared distance in joint angles, summed over steps.
torch::Tensor rollout_loss(const wt::Op& step, Policy& policy, const torch::Tensor& goal) {
  torch::Tensor q = torch::zeros_like(goal), v = torch::zeros_like(goal);
  torch::Tensor loss = torch::zeros({}, goal.options());
  for (int t = 0; t < kSteps; ++t) {
    std::vector<torch::Tensor> next = step(q, v, policy.forward(q, v, goal), kDt);
    q = next[0];
    v = next[1];
    loss = loss + (q - goal).square().sum(1).mean();
  }
  return loss;
}

int train(const std::string& file, const torch::Device& device) {
  const wt::Ops ops(file);
  const wt::Op step = ops["arm_step"];
  torch::manual_seed(0);
  Policy policy;
  policy.to(device);
  torch::optim::Adam adam(policy.parameters(), torch::optim::AdamOptions(3e-3));
  const torch::Tensor goal = torch::rand({kArms, 2}, device);
  double first = 0, last = 0;
  for (int i = 0; i < kIterations; ++i) {
    adam.zero_grad();
    torch::Tensor loss = rollout_loss(step, policy, goal);
    loss.backward();
    adam.step();
    last = loss.item<double>();
    if (i == 0) first = last;
  }
  std::printf("loss %.4f at first, %.4f after %d iterations on %s\n", first, last, kIterations,
              device.str().c_str());
  return last < 0.5 * first ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: train_arm FILE [cpu|cuda]\n");
    return 2;
  }
  try {
    return train(argv[1], torch::Device(argc > 2 ? argv[2] : "cpu"));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
