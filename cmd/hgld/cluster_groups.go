package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"hgld/cluster"
	"hgld/curate/format"
	"hgld/internal/regular"
	"hgld/labels"
)

// namerOf returns an encoder of group names that matches the vectors of the tags. It
// opens the encoder of the stage embed only when a name is not in the cache.
func namerOf(j *job, made cluster.VectorsOrigin, tags []labels.DraftTag) (*cluster.Namer, error) {
	n := &cluster.Namer{Encoder: hashing, Prompt: made.Prompt, Tags: cluster.Names(tags)}
	if made.Encoder == hashing.Name() {
		return n, nil
	}
	e, err := embedStage().Load(j.project, nil)
	if err != nil {
		return nil, err
	}
	lazy := &cluster.Lazy{Of: made.Encoder, Open: func() (cluster.Encoder, error) {
		if e.Encoder == "" {
			return nil, errors.New("embed.encoder in hgld.yaml is empty, so they cannot be encoded")
		}
		return openEncoder(e, j.openDevice)
	}}
	n.Encoder, err = withCache(j, lazy, e.Cache)
	return n, err
}

// nameGroups gives a plan the groups that are listed in the file s.Groups.
func nameGroups(j *job, p *cluster.Plan, s *clusterSettings, made cluster.VectorsOrigin) error {
	if s.Groups == "" {
		return nil
	}
	names, err := readGroupNames(s.Groups)
	if err != nil {
		return err
	}
	namer, err := namerOf(j, made, p.Tags)
	if err != nil {
		return err
	}
	x, err := namer.All(j.ctx, names)
	if err != nil {
		return withHint(fmt.Errorf("the names of %s: %w", s.Groups, err), "set embed.encoder and embed.weights in "+
			"hgld.yaml to the encoder of the tags; a file of vectors must contain the names too")
	}
	return p.NameGroups(names, x, s.MinMargin)
}

// readGroupNames reads the names of groups from a file of any format.
func readGroupNames(path string) ([]string, error) {
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := format.Read(data, path, "", labels.ReadOptions{})
	if err != nil {
		return nil, formatHint(err, path)
	}
	names := d.Groups()
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no group; want one name per line, or a file that `hgld curate import` reads",
			path)
	}
	return names, nil
}

// groupNamer is the Namer of `hgld curate serve`.
type groupNamer struct {
	*cluster.Namer
	j *job
}

func serveNamer(j *job, d *labels.Draft) (groupNamer, error) {
	made := cluster.VectorsOrigin{Encoder: d.Origin.Encoder, Prompt: cluster.Prompt(d.Origin.Prompt)}
	n, err := namerOf(j, made, d.Tags)
	return groupNamer{n, j}, err
}

// Names encodes names. It also tells the user if that fails.
func (n groupNamer) Names(ctx context.Context, names []string) ([][]float32, error) {
	vectors, err := n.Namer.Names(ctx, names)
	if err != nil && ctx.Err() == nil {
		n.j.log("names of groups are not used for suggestions: %v", err)
	}
	debug.FreeOSMemory() // weights are large, and rarely needed
	return vectors, err
}
