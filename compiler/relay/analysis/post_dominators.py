"""The post-dominator tree of a graph.

The tree and its use for fusion follow T. Chen et al., "TVM: An Automated End-to-End Optimizing Compiler for Deep
Learning", OSDI 2018.  Ancestors are found by jump pointers (E. W. Myers, "An applicative random-access stack", 1983),
so that a graph of n expressions takes O(n log n) steps however deep it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """That the node of number ``user`` uses another; -1 if that is not a node of the graph.

    ``label`` says how it uses; the largest label on a path is the path's.
    """

    user: int
    label: int


class PostDominators:
    """The tree of immediate post-dominators of a graph whose nodes are numbered so that users come after what they use.

    A node without uses, or one of whose users is -1, leaves the graph: nothing post-dominates it.  Paths are compressed
    as in E. W. Myers, "An applicative random-access stack", Information Processing Letters 17(5), 1983.
    """

    def __init__(self, uses: Sequence[Sequence[Use]], outside: int) -> None:
        self.root = root = len(uses)
        # the immediate post-dominator of each node; ``len(uses)``, which is not a node, if there is none
        self.parent = [root] * (root + 1)
        # the largest label on all paths from a node to its immediate post-dominator
        self.label = [outside] * (root + 1)
        self._depth = [0] * (root + 1)
        self._jump = [root] * (root + 1)
        self._jump_label = [outside] * (root + 1)
        for node in range(root - 1, -1, -1):
            parent, label = self._meet(uses[node], outside)
            self._insert(node, parent, label)

    def _meet(self, uses: Sequence[Use], outside: int) -> tuple[int, int]:
        if not uses or any(use.user < 0 for use in uses):
            return self.root, outside
        at, label = uses[0].user, uses[0].label
        for use in uses[1:]:
            at, climbed = self._common_ancestor(at, use.user)
            label = max(label, use.label, climbed)
        return at, label

    def _insert(self, node: int, parent: int, label: int) -> None:
        depth, jump = self._depth, self._jump
        self.parent[node], self.label[node] = parent, label
        depth[node] = depth[parent] + 1
        over = jump[parent]
        if depth[parent] - depth[over] == depth[over] - depth[jump[over]]:
            jump[node] = jump[over]
            self._jump_label[node] = max(label, self._jump_label[parent], self._jump_label[over])
        else:
            jump[node], self._jump_label[node] = parent, label

    def _common_ancestor(self, a: int, b: int) -> tuple[int, int]:
        """Return the lowest common ancestor of two nodes and the largest label on the paths to it."""
        depth, jump, parent = self._depth, self._jump, self.parent
        largest = 0
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            far = depth[jump[a]] >= depth[b]
            largest = max(largest, self._jump_label[a] if far else self.label[a])
            a = jump[a] if far else parent[a]
        while a != b:
            far = jump[a] != jump[b]
            labels = self._jump_label if far else self.label
            largest = max(largest, labels[a], labels[b])
            a, b = (jump[a], jump[b]) if far else (parent[a], parent[b])
        return a, largest
