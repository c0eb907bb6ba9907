"""Cuts the example out of the npm package emoji-datasource-twitter (Twemoji graphics, CC-BY 4.0).

    npm pack emoji-datasource-twitter@16.0.0
    python make.py emoji-datasource-twitter-16.0.0.tgz      # needs pandas and pyarrow

The emoji are those of `bridged demo`. A fifth of each group is new: in neither collection. Of the others, two fifths have
only a picture here, two fifths only a name, and three of each group are known pairs.
"""

import shutil
import sys
import tarfile
from pathlib import Path

import pandas as pd

here = Path(__file__).parent
emoji = pd.read_parquet(here / "../../crates/bridged-cli/demo/emoji.parquet", columns=["id", "name", "group"])
emoji = emoji.rename(columns={"name": "text"})
emoji["place"] = emoji.groupby("group").cumcount()
emoji["part"] = ["new" if p % 5 == 4 else "pair" if p % 5 == 2 and p < 15 else "xy"[p % 2] for p in emoji["place"]]
for folder in ["pictures", "new"]:
    shutil.rmtree(here / folder, ignore_errors=True)
    (here / folder).mkdir()
package = tarfile.open(sys.argv[1])
for row in emoji.itertuples():
    folder = {"new": "new", "y": None}.get(row.part, "pictures")
    if folder:
        picture = package.extractfile(f"package/img/twitter/64/{row.id}.png").read()
        (here / folder / f"{row.id}.png").write_bytes(picture)


def write(name, parts, columns):
    emoji[emoji["part"].isin(parts)].assign(picture=emoji["id"] + ".png")[columns].to_csv(here / name, index=False)


write("names.csv", ["pair", "y"], ["id", "text"])
write("pairs.csv", ["pair"], ["picture", "id"])
write("new.csv", ["new"], ["id", "text", "group"])
