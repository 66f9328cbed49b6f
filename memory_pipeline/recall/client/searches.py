"""What a client searches: the state of its profile, or those of several together; and the record of its recalls."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from memory_pipeline.recall.client import answering, validation
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.filters import Filters
from memory_pipeline.recall.live.state import StateCache
from memory_pipeline.recall.live.together import Alone, Together, TogetherCache
from memory_pipeline.recall.models import Answer
from memory_pipeline.recall.rank.baselines import SCORED
from memory_pipeline.recall.rank.ranking import hits
from memory_pipeline.text.embed import embedding

_TOGETHER: Final = 4
"""Most joint indexes of several profiles that a client keeps in memory."""


class Searches:
    """The searches of one client."""

    def __init__(self, own: OpenProfile) -> None:
        self._own = own
        self._together = dict[tuple[str, ...], TogetherCache]()

    def of(self, profiles: Sequence[str] | None, past: datetime | None) -> Alone | Together:
        """Return what a recall searches, now or at a past instant: the client's profile, or those given."""
        own = self._own
        names = (own.profile_id,) if profiles is None else validation.profile_names(profiles)
        if names == (own.profile_id,):
            return Alone(own.cache, own.cache.current() if past is None else own.cache.past(past))
        together = self._together.get(names)
        if together is None:
            policies = {name: own.settings.policy_of(name) for name in (*names, own.profile_id)}
            validation.check_embedders(policies)
            others = (name for name in names if name != own.profile_id)
            caches = {name: StateCache(own.lake, name, policies[name], own.zone) for name in others}
            together = TogetherCache({name: caches.get(name, own.cache) for name in names})
            self._together[names] = together
            for oldest in [*self._together][:-_TOGETHER]:
                self._together.pop(oldest, None)
        return together.current() if past is None else together.past(past)

    def answer(
        self,
        query: str,
        searched: Alone | Together,
        *,
        at: datetime,
        conditions: Filters,
        asker: Mapping[str, str | None],
        seen: tuple[bytes, ...],
        ranking: str,
        deep: bool,
        **limits: Any,
    ) -> Answer:
        """Return the memories that answer a query at an instant; the limits are those of `ranking.hits`."""
        own = self._own
        ranked = hits(
            searched.pool.index,
            query,
            now=at,
            zone=own.zone,
            deep=deep,
            allowed=searched.allowed(conditions),
            seen=frozenset(seen),
            ranking=ranking,
            vector=embedding.of_query(query, own.policy.embedder),
            scored=searched.scored(at) if ranking in SCORED else None,
            context=searched.context(**asker, now=at) if ranking == "engram" else None,
            links=searched.links,
            compare=searched.compare,
            whom=searched.whom,
            associations=searched.associations(at) if deep else None,
            **limits,
        )
        found = answering.answer(searched.pool, ranked, query, as_of=at, ranking=ranking, zone=own.zone, seen=seen)
        return searched.named(found)

    def record(self, answer: Answer, asker: Mapping[str, str | None], now: datetime) -> None:
        """Record a recall in every profile whose memories it returned; who asked, and what, in the client's only."""
        for access in answering.access_events(answer, self._own.profile_id):
            asked_here = access["profile_id"] == self._own.profile_id
            ids = {**self._own.ids, **validation.given_ids(**asker)} if asked_here else {}
            event = partial(validation.parse_event, {**ids, **access}, now, self._own.settings)
            self._own.accesses.submit(event)

    def clear(self) -> None:
        """Drop everything in memory; the next search reads it again."""
        self._own.cache.clear()
        self._together.clear()
