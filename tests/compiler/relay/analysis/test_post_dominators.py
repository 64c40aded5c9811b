"""Post-dominators of random graphs, compared with their definition."""

from __future__ import annotations

import random

import pytest

from compiler.relay.analysis.post_dominators import PostDominators, Use

OUTSIDE = 9


def random_uses(rng: random.Random, count: int) -> list[list[Use]]:
    uses: list[list[Use]] = [[] for _ in range(count)]
    for node in range(count - 1):
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            later = min(count - 1, node + rng.choice([1, 1, 2, 3, 7]))
            uses[node].append(Use(later, rng.randrange(5)))
        if rng.random() < 0.05:
            uses[node].append(Use(-1, OUTSIDE))
    return uses


def paths_out(uses: list[list[Use]], node: int) -> list[tuple[list[int], list[int]]]:
    """Return all ways out of the graph: the nodes after this one, and the labels on the way to each."""
    if not uses[node] or any(u.user < 0 for u in uses[node]):
        return [([], [])]
    return [
        ([use.user, *nodes], [use.label, *labels]) for use in uses[node] for nodes, labels in paths_out(uses, use.user)
    ]


@pytest.mark.parametrize("seed", range(60))
def test_they_are_the_first_nodes_on_all_ways_out(seed: int) -> None:
    uses = random_uses(random.Random(seed), 12)
    tree = PostDominators(uses, OUTSIDE)
    for node in range(len(uses)):
        paths = paths_out(uses, node)
        common = [n for n in paths[0][0] if all(n in nodes for nodes, _ in paths)]
        if not common:
            assert tree.parent[node] == tree.root
            continue
        assert tree.parent[node] == common[0]
        on_the_way = [max(labels[: nodes.index(common[0]) + 1]) for nodes, labels in paths]
        assert tree.label[node] == max(on_the_way)


def test_a_deep_graph_is_no_harder_than_a_wide_one() -> None:
    count = 20_000
    uses = [[Use(n + 1, 0), Use(min(n + 2, count - 1), 1)] for n in range(count - 1)] + [[]]
    tree = PostDominators(uses, OUTSIDE)
    assert tree.parent[0] == count - 1
    assert tree.label[0] == 1
