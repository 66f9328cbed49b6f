"""Labels of groups: the few words a person would write on the folder."""

import polars as pl
import pytest

from memory_pipeline.consolidation.groups import labels


def label(*keywords, contents=None, groups=None):
    """The labels of groups by number; each member has its keywords."""
    frame = pl.DataFrame(
        {
            "profile_id": ["p"] * len(keywords),
            "group": groups or [0] * len(keywords),
            "keywords": [list(words) for words in keywords],
            "content": contents or ["..."] * len(keywords),
        },
        schema_overrides={"keywords": pl.List(pl.String)},
    )
    return dict(labels.labels(frame).sort("group").rows())


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ([["harvest", "olive"], ["olive", "harvest"]], "olive, harvest"),
        ([["user", "says", "orchard"], ["user", "orchard", "takes"]], "orchard"),
        ([["w", "back", "anymore", "kiln"], ["kiln", "didn't"]], "kiln"),
        ([["weeks", "moved", "kiln"], ["kiln", "moved"]], "kiln"),
        ([["family", "red"], ["family", "red"]], "family, red"),
        ([["果园"], ["果园"]], "果园"),
    ],
)
def test_a_label_has_topics_only(keywords, expected):
    assert set(label(*keywords)[0].split(", ")) == set(expected.split(", "))


def test_a_group_that_shares_no_topic_has_no_label():
    assert label(["kiln"], ["olive"]) == {}
    assert label(["kiln", "dreamt"], ["olive", "kiln"], ["choir"]) == {0: "kiln"}
    assert label(["say", "back"], ["user"]) == {}


def test_names_keep_their_capital():
    contents = ["We fired the kiln with Odalys.", "The kiln of odalys."]
    assert label(["kiln", "odalys"], ["kiln", "odalys"], contents=contents) == {0: "kiln, Odalys"}


def test_what_every_group_names_tells_none_apart():
    topics = ["kiln", "olive", "harbour", "choir"]
    keywords = [["odalys", topic] for topic in topics for _ in range(2)]
    assert label(*keywords, groups=[n // 2 for n in range(8)]) == dict(enumerate(topics))
    assert label(*keywords[:4], groups=[0, 0, 1, 1])[0] == "odalys, kiln"
