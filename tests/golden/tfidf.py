#!/usr/bin/env python3
"""Writes tfidf.json: what scikit-learn's TfidfVectorizer and TruncatedSVD make of fixed texts.

    pip install -r requirements.txt && python3 tfidf.py
"""

import json
from pathlib import Path

from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

TEXTS = [
    "A brown dog runs through the tall grass .",
    "Two dogs, one brown and one white, run in the grass!",
    "The man in a red shirt climbs a rock; the rock is steep.",
    "A climber climbs up an icy wall",
    "Children play football_field games, 2nd half, 10 players",
    "Straße, Ärger und Überraschung: der Hund läuft über die Straße",
    "ÉCOLE école naïve façade",
    "Γλώσσα και ΛΌΓΟΣ",
    "собака бежит по траве",
    "犬が走る 犬が走る 猫",
    "it's the dog's don't",
    "",
    "a I x",
    "dog dog dog cat",
]
NEW = ["an unknown white dog", "nothing known", "", "rock ROCK Rock wall"]

cases = []
for min_df, max_df, max_features in [(1, 1.0, None), (2, 1.0, None), (1, 0.2, None), (1, 1.0, 2)]:
    vectorizer = TfidfVectorizer(min_df=min_df, max_df=max_df, max_features=max_features)
    rows = vectorizer.fit_transform(TEXTS)
    cases.append({
        "min_df": min_df, "max_df": max_df, "max_features": max_features,
        "terms": list(vectorizer.get_feature_names_out()),
        "rows": [[round(v, 9) for v in row] for row in rows.toarray().tolist()],
        "new_rows": [[round(v, 9) for v in row] for row in vectorizer.transform(NEW).toarray().tolist()],
    })

svd = TruncatedSVD(n_components=4, algorithm="arpack", random_state=0)
svd.fit(TfidfVectorizer().fit_transform(TEXTS))
golden = {"texts": TEXTS, "new": NEW, "cases": cases, "singular_values": svd.singular_values_.tolist()}
Path(__file__).with_name("tfidf.json").write_text(json.dumps(golden, ensure_ascii=False) + "\n")
