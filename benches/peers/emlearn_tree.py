"""Fits a tree to rows of features and labels, and writes it as C with emlearn.

Usage: emlearn_tree.py TRAIN.csv TEST.csv LEAVES OUT.h OUT_PREDICTIONS
Rows are whole numbers, the label last; predictions are scikit-learn's for the rows of TEST.csv.
"""

import sys

import emlearn
import numpy
from sklearn.tree import DecisionTreeClassifier


def main(train, test, leaves, header, predictions):
    rows = numpy.loadtxt(train, delimiter=",", dtype=numpy.int16)
    tree = DecisionTreeClassifier(max_leaf_nodes=int(leaves), random_state=0)
    tree.fit(rows[:, :-1], rows[:, -1])
    asked = numpy.loadtxt(test, delimiter=",", dtype=numpy.int16)[:, :-1]
    # The index of the class is what the C answers.
    numpy.savetxt(predictions, numpy.searchsorted(tree.classes_, tree.predict(asked)), fmt="%d")
    # emlearn asks `<` where scikit-learn asks `<=`, and cuts thresholds to whole numbers.
    inner = tree.tree_.children_left >= 0
    tree.tree_.threshold[inner] = numpy.floor(tree.tree_.threshold[inner]) + 1
    converted = emlearn.convert(tree, method="inline", dtype="int16_t")
    converted.save(file=header, name="peer", format="c", inference=["inline"])
    print(emlearn.includedir)


if __name__ == "__main__":
    main(*sys.argv[1:])
