"""Everything there is, by name: one list, kept by the core."""

import json

from . import _native

_ALL = json.loads(_native.catalogue())


def catalogue() -> dict[str, dict[str, str]]:
    """Every clustering, bridge, baseline, metric and preset with what it is: ``bridged list``.

    Examples
    --------
    >>> import bridged
    >>> sorted(bridged.catalogue())
    ['baselines', 'bridges', 'clusterings', 'metrics', 'presets']
    >>> bridged.catalogue()["bridges"]["majority"]
    "the output cluster with the most pairs (the paper's rule)"
    """
    kinds = ("clusterings", "bridges", "baselines", "metrics", "presets")
    return {kind: {e["name"]: e["about"] for e in _ALL[kind]} for kind in kinds}


def defaults(kind: str, name: str) -> dict:
    """The parameters of one entry, as the core has them."""
    return next(e["parameters"] for e in _ALL[kind] if e["name"] == name)
