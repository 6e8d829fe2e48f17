"""What is different between two JSON documents: matched by identity, shown as a tree, written as a patch.

Pure: no Django. `compare` gives the tree, `patch` the RFC 6902 operations that it stands for, `changes` the flat
list of its leaves, `marked` the words that differ inside two texts.
"""

from reviewqueue.diffs.flat import Change, changes
from reviewqueue.diffs.patching import patch
from reviewqueue.diffs.trees import Difference, compare
from reviewqueue.diffs.wording import Part, marked

__all__ = ["Change", "Difference", "Part", "changes", "compare", "marked", "patch"]
