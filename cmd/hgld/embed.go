package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/labels"
	textenc "hgld/train/text"
)

// embedSettings are the settings of the stage embed.
type embedSettings struct {
	Tags    string `yaml:"tags" flag:"-" path:"in" usage:"tags.jsonl of stage 1"`
	Out     string `yaml:"out" path:"out" kind:"vectors of tags" usage:"vectors to write (safetensors)"`
	Encoder string `yaml:"encoder" usage:"encoder of tags: hashing, clip, bert or vectors (--list)"`
	Weights string `yaml:"weights" path:"in" usage:"for clip and bert: folder or .safetensors file; for vectors: .npy, .safetensors or .parquet"`
	Prompt  string `yaml:"prompt" usage:"sentence to encode: tag, photo, picture, captions, several to average (tag,photo), or a text with {} in place of the tag; empty: photo for clip and bert, tag for the others"`
	Cache   string `yaml:"cache" flag:"-" path:"out" kind:"a cache of vectors" usage:"folder that caches the vectors of clip and bert; empty: no cache"`

	CLIP    clipSettings   `yaml:"clip"`
	Vectors vectorSettings `yaml:"vectors"`
}

func embedStage() pipeline.StageOf[embedSettings] {
	return pipeline.New(pipeline.Spec[embedSettings]{
		Name: "embed", Command: "embed",
		Defaults: embedSettings{
			Tags: "tags.jsonl", Out: cluster.VectorsFile, Encoder: encoders[0].Name, Cache: ".hgld/vectors",
		},
		Files: func(s *embedSettings) (in, out []string) {
			in = []string{s.Tags}
			if s.Weights != "" {
				in = append(in, s.Weights)
			}
			return in, []string{s.Out}
		},
		Run:   onJob(runEmbed),
		Check: (*embedSettings).check,
	})
}

// check finds unknown names in the settings.
func (s *embedSettings) check() error {
	if _, err := encoderNamed(s.Encoder); err != nil {
		return err
	}
	_, err := s.prompt()
	return err
}

func embedCommand() *cli.Command {
	c := stageCommand(embedStage().Stage, "embed", "stage 2: compute a vector for every distinct tag",
		"  hgld embed --list                                the encoders, and where their weights are published\n"+
			"  hgld embed                                       vectors.safetensors from tags.jsonl, without weights\n"+
			"  hgld embed --encoder bert --weights all-MiniLM-L6-v2/\n"+
			"                                                   with the sentence-transformer in that folder\n"+
			"  hgld embed --encoder clip --weights clip-vit-base-patch32/ --prompt tag\n"+
			"                                                   encodes \"church\" instead of \"a photo of a church\"\n"+
			"  hgld embed --encoder vectors --weights mine.npy  use the rows of mine.npy; texts in mine.txt\n"+
			"  hgld embed --limit 100                           the 100 most used tags")
	c.Flags = append(c.Flags, deviceFlag(),
		&cli.BoolFlag{Name: "list", Usage: "list the encoders and where to get their weights, and stop"},
		&cli.BoolFlag{Name: "print-texts", Usage: "print the texts that would be encoded, one per line, and stop"})
	run := c.Action
	c.Action = func(c *cli.Context) error {
		switch {
		case c.Bool("list"):
			return action(listEncoders)(c)
		case c.Bool("print-texts"):
			return action(printTexts)(c)
		}
		return run(c)
	}
	return c
}

// runEmbed is `hgld embed`.
func runEmbed(j *job, s *embedSettings) error {
	prompt, err := s.prompt()
	if err != nil {
		return err
	}
	if s.Weights != "" {
		j.log("reading %s", s.Weights)
	}
	encoder, err := openEncoder(s, j.openDevice)
	if err != nil {
		return err
	}
	tags, err := distinctTags(j, s.Tags)
	if err != nil {
		return err
	}
	cached, err := withCache(j, encoder, s.Cache)
	if err != nil {
		return err
	}
	adviseEncoder(j, s)
	x, err := encodeTags(j, cached, prompt, tags, s.Out)
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, map[string]any{"vectors": s.Out, "rows": x.Rows, "columns": x.Cols, "encoder": encoder.Name(),
			"prompt": string(prompt)})
	}
	j.print("%s written: %d × %d, %s of %q\n", s.Out, x.Rows, x.Cols, encoder.Name(), string(prompt))
	return nil
}

// prompt returns the sentence to encode. The default is the best measured caption for
// encoders that read sentences, and the tag alone for others.
func (s *embedSettings) prompt() (cluster.Prompt, error) {
	name := s.Prompt
	if name == "" {
		name = cluster.Prompts[0].Name
		if e, err := encoders.Get("encoder", s.Encoder); err == nil {
			if f, ok := e.(fileEncoder); ok && f.prompt != "" {
				name = f.prompt
			}
		}
	}
	return promptOf(name)
}

// promptOf parses a prompt with [cluster.ParsePrompt] and adds a hint to its error.
func promptOf(text string) (cluster.Prompt, error) {
	p, err := cluster.ParsePrompt(text)
	if errors.As(err, new(*registry.UnknownError)) {
		err = withHint(err, `your own prompt needs {} in place of the tag: --prompt "a photo of a {}"`)
	}
	return p, withCode(exitUsage, err)
}

// distinctTags returns the distinct tags of tags.jsonl, the most frequent with --limit.
func distinctTags(j *job, path string) ([]labels.DraftTag, error) {
	j.log("reading %s", path)
	records, err := labels.OpenTags(path)
	if err != nil {
		return nil, err
	}
	tags := cluster.Tags(records)
	if len(tags) == 0 {
		return nil, withHint(fmt.Errorf("%s: none of its %s has a tag, so there is nothing to "+
			"encode", path, count(len(records), "landmark")),
			"`hgld scrape run` finds tags")
	}
	carriers := 0
	for _, t := range tags {
		carriers += t.Landmarks
	}
	j.log("%d of %s have a tag; %s", carriers, count(len(records), "landmark"), count(len(tags), "distinct tag"))
	if j.limit > 0 {
		tags = tags[:min(j.limit, len(tags))]
	}
	return tags, nil
}

// encodeTags computes the vectors of tags and writes them.
func encodeTags(j *job, e cluster.Encoder, p cluster.Prompt, tags []labels.DraftTag, out string) (cluster.Matrix,
	error) {
	j.log("encoding %s with %s", count(len(tags), "tag"), e.Name())
	x, err := cluster.Embed(j.ctx, e, p, cluster.Names(tags))
	if err != nil {
		return cluster.Matrix{}, err
	}
	origin := cluster.VectorsOrigin{Encoder: e.Name(), Prompt: p, Tags: cluster.Fingerprint(tags)}
	return x, atomicfile.Write(out, func(w io.Writer) error { return cluster.WriteVectors(w, x, origin) })
}

// printTexts is `hgld embed --print-texts`. It prints the texts for another program to
// encode: one per line, or an array of strings with --json.
func printTexts(c *cli.Context, j *job) error {
	settings, err := embedStage().Recall(j.project, c)
	if err != nil {
		return err
	}
	prompt, err := settings.prompt()
	if err != nil {
		return err
	}
	tags, err := distinctTags(j, settings.Tags)
	if err != nil {
		return err
	}
	texts, err := prompt.Texts(cluster.Names(tags))
	if err != nil {
		return err
	}
	if j.json {
		return json.NewEncoder(j.stdout).Encode(texts)
	}
	for _, t := range texts {
		if strings.Contains(t, "\n") {
			return withHint(errors.New("a text contains a line break"), "--json prints an array of strings")
		}
		j.print("%s\n", t)
	}
	return nil
}

// withCache adds a cache in dir to e. It returns e if its vectors cannot be cached.
func withCache(j *job, e cluster.Encoder, dir string) (cluster.Encoder, error) {
	c, ok := e.(cluster.Cacheable)
	if !ok {
		return e, nil
	}
	cache, err := cluster.OpenCache(c, dir)
	if err != nil {
		var damaged *cluster.CacheError
		if errors.As(err, &damaged) {
			err = withHint(withCode(exitIntegrity, err), "remove the file; hgld recomputes its vectors")
		}
		return nil, err
	}
	return cachedEncoder{cache, j}, nil
}

// cachedEncoder reports how many texts the cache has and how many are left to encode.
type cachedEncoder struct {
	*cluster.Cache
	j *job
}

func (c cachedEncoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	missing := len(c.Missing(texts))
	if n := len(texts) - missing; n > 0 {
		c.j.log("%s cached or repeated, %d to encode", count(n, "text"), missing)
	}
	bar := c.j.progress("encoding", missing)
	defer bar.End()
	return c.EncodeWatched(ctx, texts, func(done int) { bar.Set(done, "") })
}

// embedAdvice has the exit codes and next steps for errors of the encoders of tags and their files of weights.
var embedAdvice = []advice{
	kind(exitOK, func(*cluster.MissingTextsError) string {
		return "hgld embed --print-texts lists what to encode; --prompt sets the sentence around a tag"
	}),
	sentinel(textenc.ErrActivation, exitUsage, "set it: -o clip.activation=quick_gelu, or gelu"),
	kind(exitUsage, func(*textenc.NoWeightsError) string {
		return "hgld embed --list says which files are needed; --weights also takes a file with another name"
	}),
	kind(exitUsage, func(e *textenc.PickleError) string {
		return fmt.Sprintf("scripts/convert_weights.py %s %s converts it", word(e.Path),
			word(strings.TrimSuffix(e.Path, filepath.Ext(e.Path))+".safetensors"))
	}),
	kind(exitOK, func(*cluster.EncoderError) string {
		return "name the first one in embed.encoder, or make new vectors with `hgld embed`"
	}),
}
