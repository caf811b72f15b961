package main

import "hgld/cluster"

// hashing is the encoder that needs no weights. Its vectors depend on the other tags,
// so they are not cached.
var hashing = cluster.Hashing{Dim: 512, MinN: 2, MaxN: 4, IDF: true}
