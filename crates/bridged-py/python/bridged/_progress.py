"""Progress bars by tqdm, where it is installed."""


class Bars:
    """Called by the native layer with the stages under way: (stage, done, total or None)."""

    def __init__(self, tqdm):
        self._tqdm = tqdm
        self._bars = {}

    def __call__(self, stages):
        for stage, done, total in stages:
            bar = self._bars.get(stage)
            if bar is None:
                bar = self._bars[stage] = self._tqdm(desc=stage, total=total, leave=False)
            bar.n = max(bar.n, done)
            bar.refresh()
        under_way = {stage for stage, _, _ in stages}
        for stage in [s for s in self._bars if s not in under_way]:
            self._bars.pop(stage).close()


def bars(progress):
    """What shows progress: nothing, a callable that was given, or bars."""
    if progress is None or progress is False:
        return None
    if callable(progress):
        return progress
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return Bars(tqdm)
