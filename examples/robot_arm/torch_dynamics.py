# SPDX-License-Identifier: Apache-2.0
# torch_dynamics.py: the arm's dynamics in plain PyTorch, the reference and the baseline.
"""Articulated-body dynamics in ordinary PyTorch operations, batched over environments.

Everything that does not depend on a neighbouring joint is done for all joints in one operation;
Python loops run over joints only where the algorithm is a recursion.
"""

import torch


class TorchArm:
    """Forward dynamics, step and kinematics of one ArmModel for tensors of shape (batch, dof)."""

    def __init__(self, model, params, dtype=torch.float32, device="cpu"):
        self.dof = model.dof
        self.params = params

        def tensor(array):
            return torch.as_tensor(array, dtype=dtype, device=device)

        # A joint transform is affine in cos q and sin q: X(q) = cos * x_cos + sin * x_sin + x_one.
        fixed = torch.zeros(model.dof, 6, 6, dtype=torch.float64)
        rot = torch.as_tensor(model.rotation)
        fixed[:, :3, :3] = rot.mT
        fixed[:, 3:, 3:] = rot.mT
        fixed[:, 3:, :3] = -rot.mT @ _skew(torch.as_tensor(model.translation))
        parts = torch.zeros(3, 6, 6, dtype=torch.float64)
        for k in (0, 3):
            parts[0, k, k] = parts[0, k + 1, k + 1] = 1.0
            parts[1, k, k + 1], parts[1, k + 1, k] = 1.0, -1.0
            parts[2, k + 2, k + 2] = 1.0
        self.x_cos, self.x_sin, self.x_one = (tensor(part @ fixed) for part in parts)
        self.inertia = tensor(model.spatial_inertia())
        self.base_acceleration = tensor([0.0, 0.0, 0.0, 0.0, 0.0, params.gravity])

        turn = torch.zeros(3, 3, 3, dtype=torch.float64)
        turn[0, 0, 0] = turn[0, 1, 1] = turn[2, 2, 2] = 1.0
        turn[1, 0, 1], turn[1, 1, 0] = -1.0, 1.0
        self.rot_cos, self.rot_sin, self.rot_one = (tensor(rot @ part) for part in turn)
        self.translation = tensor(model.translation)
        self.tip_translation = tensor(model.tip_translation)

        self.lower, self.upper = tensor(model.lower), tensor(model.upper)
        self.effort = tensor(model.effort)
        self.damping = tensor(params.joint_damping(model))
        self.limit_stiffness = tensor(params.limit_stiffness(model))

    def forward_dynamics(self, q, v, tau):
        """Joint accelerations by the articulated-body algorithm."""
        cos, sin = torch.cos(q)[..., None, None], torch.sin(q)[..., None, None]
        x = list((cos * self.x_cos + sin * self.x_sin + self.x_one).unbind(1))
        velocity, bias, force = self._velocity_terms(x, v)

        inertia, u, column = self.inertia[-1], [None] * self.dof, [None] * self.dof
        p = force[:, -1]
        for j in range(self.dof - 1, -1, -1):
            column[j] = inertia[..., 2]
            scaled = column[j] / column[j][..., 2:3]
            u[j] = tau[:, j] - p[:, 2]
            if j > 0:
                rest = inertia - column[j][..., :, None] * scaled[..., None, :]
                bias_j = bias[:, j]
                p = p + (rest @ bias_j[..., None])[..., 0] + scaled * u[j][:, None]
                inertia = self.inertia[j - 1] + x[j].mT @ rest @ x[j]
                p = force[:, j - 1] + (x[j].mT @ p[..., None])[..., 0]

        acceleration = self.base_acceleration.expand(q.shape[0], 6)
        result = []
        for j in range(self.dof):
            a = (x[j] @ acceleration[..., None])[..., 0] + bias[:, j]
            qdd = (u[j] - (column[j] * a).sum(-1)) / column[j][..., 2]
            result.append(qdd)
            if j + 1 < self.dof:
                acceleration = torch.cat([a[:, :2], a[:, 2:3] + qdd[:, None], a[:, 3:]], dim=1)
        return torch.stack(result, dim=1)

    def _velocity_terms(self, x, v):
        """Link velocities, velocity-product accelerations and bias forces, each (batch, dof, 6)."""
        joint_velocity = torch.nn.functional.pad(v[..., None], (2, 3))
        link = joint_velocity[:, 0]
        velocities = [link]
        for j in range(1, self.dof):
            link = (x[j] @ link[..., None])[..., 0] + joint_velocity[:, j]
            velocities.append(link)
        velocity = torch.stack(velocities, dim=1)
        angular, linear = velocity[..., :3], velocity[..., 3:]
        turning = joint_velocity[..., :3]
        bias = torch.cat(
            [torch.linalg.cross(angular, turning), torch.linalg.cross(linear, turning)], dim=-1
        )
        momentum = (self.inertia @ velocity[..., None])[..., 0]
        top, bottom = momentum[..., :3], momentum[..., 3:]
        force = torch.cat(
            [
                torch.linalg.cross(angular, top) + torch.linalg.cross(linear, bottom),
                torch.linalg.cross(angular, bottom),
            ],
            dim=-1,
        )
        return velocity, bias, force

    def joint_torque(self, q, v, torque):
        """The commanded torque within its limits, plus damping and the push of the joint stops."""
        command = torch.clamp(torque, -self.effort, self.effort)
        beyond = torch.clamp(q - self.upper, min=0.0) + torch.clamp(q - self.lower, max=0.0)
        stop = self.limit_stiffness * (beyond + self.params.limit_damping * beyond.abs() * v)
        return command - self.damping * v - stop

    def substep(self, q, v, torque):
        """Semi-implicit Euler over params.dt."""
        h = self.params.dt
        v = v + h * self.forward_dynamics(q, v, self.joint_torque(q, v, torque))
        return q + h * v, v

    def step(self, q, v, torque):
        """One control step of params.substeps substeps: (q, v, tip position)."""
        for _ in range(self.params.substeps):
            q, v = self.substep(q, v, torque)
        return q, v, self.tip_position(q)

    def tip_position(self, q):
        """Position of the tip, (batch, 3)."""
        cos, sin = torch.cos(q)[..., None, None], torch.sin(q)[..., None, None]
        local = (cos * self.rot_cos + sin * self.rot_sin + self.rot_one).unbind(1)
        position = self.tip_translation.expand(q.shape[0], 3)
        for j in range(self.dof - 1, -1, -1):
            position = (local[j] @ position[..., None])[..., 0] + self.translation[j]
        return position


def _skew(t):
    zero = torch.zeros_like(t[:, 0])
    rows = [zero, -t[:, 2], t[:, 1], t[:, 2], zero, -t[:, 0], -t[:, 1], t[:, 0], zero]
    return torch.stack(rows, dim=1).reshape(-1, 3, 3)
