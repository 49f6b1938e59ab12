"""`certify` into a file: points are read in blocks, and their verdicts written, whatever their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nullproof.cli.following import after_certify, shown_of
from nullproof.cli.outputs import failing
from nullproof.cli.streams import working
from nullproof.cli.written import written_bias
from nullproof.cores import on_both_cores
from nullproof.progress import Progress

if TYPE_CHECKING:
    from nullproof.cli.options import Request
    from nullproof.data.points import Chunk
    from nullproof.data.sources import Blocks
    from nullproof.model.certify import Certificates
    from nullproof.model.model import Model


def certify_in_blocks(request: Request, bias: list[str] | None, *, check: bool) -> None:
    """Write the verdicts of all points to a table, with one block of points in memory at a time."""
    from nullproof.files import write_frames
    from nullproof.model.model import Model

    asked_bias = written_bias(bias)
    with working("reading and counting"):
        index, blocks = request.load_blocks()
    asked = request.model(index)
    own_missing = asked.pop("own_missing")
    certified = _Certified(Model(index, bias=asked_bias, **asked), blocks, own_missing)
    assert request.output is not None
    with working("certifying") as say:
        write_frames(request.output, certified.frames(say, **request.naming(blocks)))
    following = after_certify(request, index, bias, all_certain=certified.all_certain)
    with failing(check and not certified.all_certain):
        request.tell_written(certified.n_points, shown_of(request, False, following).then)


@dataclass
class _Certified:
    """Points that are certified as they come, and what is known of all of them afterwards."""

    model: Model
    blocks: Blocks
    own_missing: Any
    n_points: int = 0
    all_certain: bool = True

    def frames(self, say: Progress, key: str | None) -> Iterator[Any]:
        """The verdicts of each block as a data frame of polars; two blocks are certified at a time."""
        from nullproof.data.points import read_points_in_chunks
        from nullproof.files import frame_of

        schema, smoothed = self.model.index.schema, self.model.alpha != 0
        certify = partial(self._certified, judged=self._have_labels())
        blocks = read_points_in_chunks(
            schema, self.blocks, self.own_missing, key, smoothed=smoothed
        )
        for some, found in on_both_cores(lambda block: (block, certify(block)), blocks):
            self.n_points += len(found)
            self.all_certain &= bool(found.certain.all())
            say("certifying", some.share)
            yield frame_of(found.file_columns(some.first))

    def _certified(self, some: Chunk, judged: bool) -> Certificates:
        """The certificates of a block, with all that is told of its points worked out."""
        from nullproof.data.labels import true_labels
        from nullproof.model.certify import certificates_of

        found = certificates_of(self.model, some.points)
        if judged:
            found = replace(found, actual=true_labels(self.model.index.schema, some.table))
        found.work_out(None)
        found.predicted  # noqa: B018
        return found

    def _have_labels(self) -> bool:
        """Whether any point has a true label: then a column tells which predictions are right."""
        from nullproof.data.labels import true_labels

        schema = self.model.index.schema
        if schema.label_name not in self.blocks.names:
            return False
        for table, _ in self.blocks.tables({schema.label_name}):
            codes = true_labels(schema, table)
            if codes is not None and (codes >= 0).any():
                return True
        return False
