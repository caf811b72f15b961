package main

import "hgld/cluster"

// hashing is the encoder of the table that needs no weights. Its vectors depend on
// the other tags, so they are made anew each time.
var hashing = cluster.Hashing{Dim: 512, MinN: 2, MaxN: 4, IDF: true}
