package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/labels"
)

// encoders is the table of what can turn tags into vectors.
var encoders = registry.Table[cluster.Encoder]{
	{Name: "hashing", About: "character n-grams; needs no weights", Value: cluster.Hashing{Dim: 512, MinN: 2, MaxN: 4, IDF: true}},
}

// embedSettings is the section "embed" of hgld.yaml.
type embedSettings struct {
	Tags    string `yaml:"tags" path:"in" usage:"tags.jsonl of stage 1"`
	Out     string `yaml:"out" path:"out" usage:"vectors to write (safetensors)"`
	Encoder string `yaml:"encoder" usage:"what turns a tag into a vector: hashing"`
	Prompt  string `yaml:"prompt" usage:"sentence to encode: tag, photo, picture, or a text with {} for the tag"`
}

func embedStage() stage {
	return newStage("embed", "embed",
		embedSettings{Tags: "tags.jsonl", Out: cluster.VectorsFile, Encoder: encoders[0].Name, Prompt: cluster.Prompts[0].Name},
		func(s *embedSettings) (in, out []string) { return []string{s.Tags}, []string{s.Out} },
		runEmbed)
}

func embedCommand() *cli.Command {
	return embedStage().subcommand("embed", "stage 2: a vector for every distinct tag",
		"  hgld embed                              vectors.safetensors from tags.jsonl\n"+
			"  hgld embed --prompt photo               of \"a photo of a church\" and not of \"church\"\n"+
			"  hgld embed --limit 100                  the 100 most used tags")
}

// runEmbed is `hgld embed`.
func runEmbed(j *job, s *embedSettings) error {
	encoder, err := encoders.Get("encoder", s.Encoder)
	if err != nil {
		return withCode(exitUsage, err)
	}
	prompt, err := promptOf(s.Prompt)
	if err != nil {
		return err
	}
	tags, err := distinctTags(j, s.Tags)
	if err != nil {
		return err
	}
	x, err := encodeTags(j, encoder, prompt, tags, s.Out)
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, map[string]any{"vectors": s.Out, "rows": x.Rows, "columns": x.Cols, "encoder": encoder.Name(), "prompt": string(prompt)})
	}
	j.print("%s written: %d × %d, %s of %q\n", s.Out, x.Rows, x.Cols, encoder.Name(), string(prompt))
	return nil
}

// promptOf finds a prompt by name; a text with {} is itself one.
func promptOf(name string) (cluster.Prompt, error) {
	if strings.Contains(name, "{}") {
		return cluster.Prompt(name), nil
	}
	p, err := cluster.Prompts.Get("prompt", name)
	if err != nil {
		return "", withHint(withCode(exitUsage, err), `a prompt of your own has {} where the tag goes: --prompt "a photo of a {}"`)
	}
	return p, nil
}

// distinctTags reads tags.jsonl and lists its distinct tags, the most used ones
// if there is a limit.
func distinctTags(j *job, path string) ([]labels.DraftTag, error) {
	j.say("reading %s", path)
	records, err := readTags(path)
	if err != nil {
		return nil, err
	}
	tags := cluster.Tags(records)
	if len(tags) == 0 {
		return nil, withHint(fmt.Errorf("%s: none of its %s has a tag", path, count(len(records), "landmark")), "`hgld scrape` finds tags")
	}
	carriers := 0
	for _, t := range tags {
		carriers += t.Landmarks
	}
	j.say("%d of %s have a tag; %s", carriers, count(len(records), "landmark"), count(len(tags), "distinct tag"))
	if j.limit > 0 {
		tags = tags[:min(j.limit, len(tags))]
	}
	return tags, nil
}

// encodeTags makes the vectors of tags and writes them.
func encodeTags(j *job, e cluster.Encoder, p cluster.Prompt, tags []labels.DraftTag, out string) (cluster.Matrix, error) {
	j.say("encoding %s with %s", count(len(tags), "tag"), e.Name())
	x, err := cluster.Embed(j.ctx, e, p, cluster.Names(tags))
	if err != nil {
		return cluster.Matrix{}, err
	}
	origin := cluster.VectorsOrigin{Encoder: e.Name(), Prompt: p, Tags: cluster.Fingerprint(tags)}
	return x, atomicfile.Write(out, func(w io.Writer) error { return cluster.WriteVectors(w, x, origin) })
}
