// Command hgld builds labels with a hierarchy for image retrieval and trains
// models on them: it scrapes the tags of landmark categories, clusters them,
// takes a curator's edits, writes Parquet shards, trains hierarchical models on
// the shards and evaluates them.
package main

import (
	"io"
	"os"
)

func main() { os.Exit(hgld(os.Args, os.Stdout, os.Stderr)) }

// hgld runs one command line and returns its exit code.
func hgld(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(stderr)
	defer stop()
	return reportError(newApp(stdout, stderr, args).RunContext(ctx, args), stderr)
}
