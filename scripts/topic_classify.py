#!/usr/bin/env python3
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from echolib.cli.run import leave
from echolib.cli.topic_classify import Classifier, classify, load, main

if __name__ == '__main__':
    leave(main(sys.argv[1:]))
