package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
)

// change is an input of a stage that is not as the stage before left it: damaged, or
// edited by hand.
type change struct {
	path string // as the settings name it
	by   stage  // that wrote it
	was  stamp  // of that stage
	now  string // sha256
}

// changedFlag takes changed inputs.
func changedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "changed", Usage: "take inputs as they are that were changed since a stage wrote them, and record it"}
}

// rereader are settings of a stage that reads some of its own outputs, if they are there.
type rereader interface{ rereads() []string }

// trustInputs compares the files that a stage reads with the stamps of the stages that
// wrote them. One that differs is an error, unless the user says that it was changed on
// purpose: then the stamp is renewed, and says so. Folders have hashes of their own.
func (s stage) trustInputs(j *job, settings any) error {
	if j.project.file == "" {
		return nil
	}
	in, _ := s.files(settings)
	if r, ok := settings.(rereader); ok {
		in = append(slices.Clone(in), r.rereads()...)
	}
	var list []error
	for _, path := range in {
		c, err := j.project.changeOf(path)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", s.command, err)
		case c == nil:
		case j.changed:
			list = append(list, c.accept(j.project))
		default:
			list = append(list, s.distrust(j.project, c))
		}
	}
	return errors.Join(list...)
}

// distrust is the error of a stage that would have to read a changed file.
func (s stage) distrust(p *project, c *change) error {
	err := fmt.Errorf("%s: %s is not as `hgld %s` left it on %s: its sha256 is %s, and was %s", s.command, c.path,
		c.by.command, c.was.Finished.Format(time.DateTime), c.now, c.was.sum(p.inside(c.path)))
	anew := "`%s` writes it anew"
	if c.by.name == s.name {
		anew = "without it, `%s` makes it anew"
	}
	return withHint(withCode(exitIntegrity, err), anew+"; if it was changed on purpose, "+
		"--changed takes it as it is and records that", p.typed(c.by.command))
}

// changeOf says how a file differs from what the stages that write it have left, by the
// latest of them; nil where it is as one of them left it, or none has written it.
func (p *project) changeOf(path string) (*change, error) {
	info, err := os.Stat(path)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // a missing one is found out by those who need it
	}
	var c *change
	for _, by := range sections() {
		was, err := by.stampIn(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOtherStamp) {
			continue
		}
		if err != nil {
			return nil, err
		}
		want := was.sum(p.inside(path))
		if want == "" {
			continue
		}
		now, err := sha256File(path)
		if err != nil || now == want {
			return nil, err
		}
		if c == nil || was.Finished.After(c.was.Finished) {
			c = &change{path, by, was, now}
		}
	}
	return c, nil
}

// sum is the sha256 of an output, "" where the stamp has none.
func (was stamp) sum(path string) string {
	if sum := was.Sums[path]; sum != "" {
		return sum
	}
	if sum, err := hex.DecodeString(was.Out[path]); err == nil && len(sum) == 32 {
		return was.Out[path]
	}
	return ""
}

// sumsOf are the hashes of the files that are too large for a fingerprint by contents.
func sumsOf(prints map[string]string) (map[string]string, error) {
	sums := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(prints)) {
		if (stamp{Out: prints}).sum(path) != "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		sum, err := sha256File(path)
		if err != nil {
			return nil, err
		}
		sums[path] = sum
	}
	return sums, nil
}

// accept renews the stamp of the stage that wrote the file.
func (c change) accept(p *project) error {
	print, err := fingerprintOf(c.path)
	if err != nil {
		return err
	}
	was, err := c.by.stampIn(p) // anew: two files of one stage may have changed
	if err != nil {
		return err
	}
	rel := p.inside(c.path)
	if was.Changed == nil {
		was.Changed = map[string]string{}
	}
	if was.Changed[rel] == "" {
		was.Changed[rel] = was.sum(rel)
	}
	was.Out[rel] = print
	if was.Sums[rel] != "" {
		was.Sums[rel] = c.now
	}
	return c.by.writeStamp(p, was)
}
