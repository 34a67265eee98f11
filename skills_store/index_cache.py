"""LRU cache of rendered skill indexes."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from threading import Lock

from skills_store.collection import SkillCollection
from skills_store.index import IndexRequest, RenderedIndex, render_index

MAX_INDEXES = 8


class IndexCache:
    """Rendered indexes by all their inputs. Thread-safe; can be shared by several libraries."""

    def __init__(self, max_indexes: int = MAX_INDEXES) -> None:
        self._max_indexes = max_indexes
        self._indexes: OrderedDict[Hashable, RenderedIndex] = OrderedDict()
        self._lock = Lock()

    def get(self, collection: SkillCollection, request: IndexRequest) -> RenderedIndex:
        """Return an index, rendered if it is not cached.

        Recent use is part of the key only if the index was shortened; otherwise it has no effect.
        """
        full_key = (collection.key, replace(request, recent=()), None)
        shortened_key = (*full_key[:2], request.recent)
        with self._lock:
            for key in (full_key, shortened_key):
                if key in self._indexes:
                    self._indexes.move_to_end(key)
                    return self._indexes[key]
        # Rendered outside the lock: it takes long, and two threads that render the same get the
        # same bytes.
        index = render_index(collection, request)
        with self._lock:
            self._indexes[shortened_key if index.is_shortened else full_key] = index
            while len(self._indexes) > self._max_indexes:
                self._indexes.popitem(last=False)
        return index
