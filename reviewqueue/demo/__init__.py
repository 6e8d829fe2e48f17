"""Demo data: incidents of our own writing, the policy they are judged under, and the people who decide on them.

`manifest.json` lists the documents in posting order with the verdict each must get and what happens to it then;
`policy.json` is the policy. Documents name times as "@-4m" (four minutes before they are loaded) and carry a
hash only where it is meant to be wrong: all others are written when the document is loaded.
"""
