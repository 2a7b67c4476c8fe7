"""Lets the tests import echolib from the checkout they belong to."""
import sys

from helpers import ROOT

sys.path.insert(0, ROOT)
