package pipeline

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"hgld/internal/exitcode"
)

// change is an input of a stage that is not as the stage before left it: damaged, or
// edited by hand.
type change struct {
	path string // as the settings name it
	by   Stage  // that wrote it
	was  Stamp  // of that stage
	now  string // SHA-256
}

// TrustInputs compares the files that the stage reads with the stamps of the stages that
// wrote them. A file that differs is an error of code [exitcode.Integrity], unless the
// job accepts changed files: then TrustInputs records the change in the stamp. Folders
// are not compared, since they have hashes of their own.
func (s Stage) TrustInputs(j Job, own any) error {
	o := j.Options()
	if o.Project.File == "" {
		return nil
	}
	in, _ := s.files(own)
	var list []error
	for _, path := range slices.Concat(in, s.rereads(own)) {
		c, err := o.Project.changeOf(path)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", s.Command, err)
		case c == nil:
		case o.Changed:
			list = append(list, c.accept(o.Project))
		default:
			list = append(list, s.distrust(o.Project, c))
		}
	}
	return errors.Join(list...)
}

// distrust returns the error of a stage that would have to read a changed file.
func (s Stage) distrust(p *Project, c *change) error {
	err := fmt.Errorf("%s: %s is not as `hgld %s` left it on %s: its sha256 is %s, and was %s", s.Command, c.path,
		c.by.Command, c.was.Finished.Format(time.DateTime), c.now, c.was.sum(p.Inside(c.path)))
	anew := "`%s` writes it anew"
	if c.by.Name == s.Name {
		anew = "without it, `%s` makes it anew"
	}
	return exitcode.Hint(exitcode.With(exitcode.Integrity, err), anew+"; if it was changed on purpose, "+
		"--changed takes it as it is and records that", p.Typed(c.by.Command))
}

// changeOf returns how a file differs from what the stages that write it have left, by the
// latest of them. It returns nil if the file is as one of them left it, or if no stage
// has written it.
func (p *Project) changeOf(path string) (*change, error) {
	info, err := os.Stat(path)
	if err != nil && !IsMissing(err) {
		return nil, err
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // whoever needs a missing file reports it
	}
	var c *change
	for _, by := range p.engine().Stages {
		was, err := by.Stamp(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrOtherStamp) {
			continue
		}
		if err != nil {
			return nil, err
		}
		want := was.sum(p.Inside(path))
		if want == "" {
			continue
		}
		now, err := hashOf(path)
		if err != nil || now == want {
			return nil, err
		}
		if c == nil || was.Finished.After(c.was.Finished) {
			c = &change{path, by, was, now}
		}
	}
	return c, nil
}

// sum returns the SHA-256 of an output, "" if the stamp has none.
func (was Stamp) sum(path string) string {
	if sum := was.Sums[path]; sum != "" {
		return sum
	}
	if sum, err := hex.DecodeString(was.Out[path]); err == nil && len(sum) == 32 {
		return was.Out[path]
	}
	return ""
}

// sumsOf returns the SHA-256 of the files whose fingerprint is not one: they are large.
func sumsOf(prints map[string]string) (map[string]string, error) {
	sums := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(prints)) {
		if (Stamp{Out: prints}).sum(path) != "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil && !IsMissing(err) {
			return nil, err
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		sum, err := hashOf(path)
		if err != nil {
			return nil, err
		}
		sums[path] = sum
	}
	return sums, nil
}

// accept records a changed file in the stamp of the stage that wrote it.
func (c change) accept(p *Project) error {
	print, err := p.engine().fingerprint(c.path)
	if err != nil {
		return err
	}
	was, err := c.by.Stamp(p) // read again: two files of one stage may have changed
	if err != nil {
		return err
	}
	rel := p.Inside(c.path)
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
