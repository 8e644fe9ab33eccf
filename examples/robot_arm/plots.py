# SPDX-License-Identifier: Apache-2.0
# plots.py: pictures of the training and of the motion it led to.
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402


def learning_curve(history, task, path):
    """Loss and success on the validation goals over the iterations."""
    figure, left = plt.subplots(figsize=(7, 4), layout="constrained")
    left.semilogy([h["iteration"] for h in history], [h["loss"] for h in history], color="tab:blue")
    left.set_xlabel("iteration")
    left.set_ylabel("mean cost of a control step", color="tab:blue")
    checked = [h for h in history if h["success"] is not None]
    right = left.twinx()
    right.plot(
        [h["iteration"] for h in checked],
        [100.0 * h["success"] for h in checked],
        color="tab:orange",
        marker=".",
    )
    right.axhline(100.0 * task.required, color="tab:orange", linestyle=":", linewidth=1)
    right.set_ylim(0, 102)
    label = f"goals within {100 * task.tolerance:g} cm after {task.reach_time:g} s (%)"
    right.set_ylabel(label, color="tab:orange")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def motion(model, joints, goals, path):
    """The arm on its way to some goals, from the side and from above.

    joints is (time, goals, dof); the darker the arm, the later.
    """
    count = goals.shape[0]
    figure, axes = plt.subplots(
        2, count, figsize=(3 * count, 6.5), layout="constrained", squeeze=False
    )
    shown = np.unique(np.geomspace(1, len(joints), 8).astype(int) - 1)
    paths = [np.array([model.points(q) for q in joints[:, k]]) for k in range(count)]
    low, high = np.min(paths, axis=(0, 1, 2)) - 0.1, np.max(paths, axis=(0, 1, 2)) + 0.1
    for k, points in enumerate(paths):
        for row, (across, up, name) in enumerate(((0, 2, "side"), (0, 1, "above"))):
            ax = axes[row, k]
            for order, step in enumerate(shown):
                shade = 0.15 + 0.85 * order / (len(shown) - 1)
                arm = points[step]
                ax.plot(arm[:, across], arm[:, up], "-o", color="tab:blue", alpha=shade, ms=2)
            ax.plot(points[:, -1, across], points[:, -1, up], color="tab:red", linewidth=1)
            ax.plot(goals[k, across], goals[k, up], "*", color="tab:green", ms=12)
            ax.set_aspect("equal")
            ax.set_xlim(low[across], high[across])
            ax.set_ylim(low[up], high[up])
            ax.set_title(f"goal {k + 1}, {name}", fontsize=9)
            ax.set_xlabel("x (m)", fontsize=8)
            ax.set_ylabel("z (m)" if up == 2 else "y (m)", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
