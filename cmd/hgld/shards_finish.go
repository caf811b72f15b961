package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/shards"
	"hgld/shards/provenance"
)

func shardsFinishCommand() *cli.Command {
	return &cli.Command{
		Name: "finish", Usage: "make a data set of the slices, without reading images, inputs or shards again",
		Description: "  hgld shards finish …                  with the settings of `hgld shards slice`; in a project, the stage is\n" +
			"                                        then done, as after `hgld shards build`\n" +
			"  hgld shards finish … --deep           read the shards and compare them with their hashes",
		Flags: append(append(flagsOf(shardsStage().Defaults()), stageFlags()...), replaceFlag(), memoryFlag(),
			&cli.BoolFlag{Name: "deep", Usage: "compare every shard with its hash"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			s, err := shardsStage().Load(j.project, c)
			if err := errors.Join(err, limitMemory(c)); err != nil {
				return err
			}
			o := shards.FinishOptions{Deep: c.Bool("deep")}
			if o.Options, err = s.options(j); err != nil {
				return err
			}
			o.Replace = c.Bool("replace")
			return runShardsFinish(j, s, o)
		},
	}
}

func runShardsFinish(j *job, s *shardsSettings, o shards.FinishOptions) error {
	result, err := shards.Finish(j.ctx, s.Out, o)
	if err != nil {
		listRefused(j, err)
		return shardsError(err)
	}
	switch {
	case j.json:
		err = writeJSON(j, result.Manifest.Summary())
	case result.Before:
		j.print("%s is finished already; `hgld shards verify` checks it\n", s.Out)
	default:
		printBuilt(j, s, result)
	}
	failed := failureError(result.Failures,
		s.Out+"/"+shards.FailuresFile+" lists them; repair them, and build the slices again")
	_, again := ended(failed)
	return errors.Join(err, failed, recordFinished(j, s, o.Settings, result.Manifest, again))
}

// recordFinished records a data set made of slices as the result of the stage, if the slices were built with these
// settings. An input that was changed after the slices had read it is recorded as they read it.
func recordFinished(j *job, s *shardsSettings, own shards.Settings, m *shards.Manifest, again bool) error {
	if j.project.File == "" {
		return nil
	}
	configured, err := shardsStage().Load(j.project, nil)
	if err != nil || !atomicfile.Same(s.Out, configured.Out) {
		return err // the project does not use this data set
	}
	same, err := s.madeOfSource(j)
	if err != nil {
		return err
	}
	if !same || m.Settings != own {
		j.say("note: %s was built with other settings than these, so `hgld status` does not count it as done", s.Out)
		return nil
	}
	before, err := shardsStage().InputPrints(j.project, s)
	if err != nil {
		return err
	}
	for path, print := range before {
		read := slices.IndexFunc(m.Inputs, func(in shards.Input) bool { return in.Name == filepath.Base(path) })
		if read < 0 || print == "" {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Size() <= pipeline.WholeFile { // its print is its SHA-256
			before[path] = m.Inputs[read].SHA256.String()
		}
	}
	_, out := shardsStage().Files(s)
	return shardsStage().Record(j, s, before, out, again)
}

// madeOfSource reports whether the data set was built with these settings of the importer.
func (s *shardsSettings) madeOfSource(j *job) (bool, error) {
	now, err := s.source()
	if err != nil {
		return false, err
	}
	text, err := shards.ReadFile(j.ctx, s.Out, shards.BuildFile)
	if err != nil {
		return false, err
	}
	var was struct{ Source provenance.Settings }
	if err := json.Unmarshal(text, &was); err != nil {
		return false, fmt.Errorf("%s/%s: %w", s.Out, shards.BuildFile, err)
	}
	before, err := json.Marshal(was.Source)
	if err != nil {
		return false, err
	}
	after, err := json.Marshal(now)
	return bytes.Equal(before, after), err
}
