package pipeline

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"hgld/internal/atomicfile"
)

// change is an input that differs from what an earlier stage wrote. It is damaged, or a user
// edited it.
type change struct {
	path string // path as in the settings
	by   Stage  // stage that wrote the file
	was  Stamp  // stamp of that stage
	now  string // SHA-256 of the file now
}

// TrustInputs compares the files that the stage reads with the stamps of the stages that wrote
// them. If a file differs, it returns a [ChangedError]. If the job
// accepts changed files, it records the change in the stamp instead. It does not compare
// folders, which have their own hashes.
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
			list = append(list, &ChangedError{o.Project, s.Command, c.path, c.by.Command, c.was.Finished,
				o.Project.engine().Kinds[c.by.kindOf(o.Project, c.path)].ByHand, c.was.sum(o.Project.Inside(c.path)), c.now})
		}
	}
	return errors.Join(list...)
}

// Accepted returns the command of the stage that wrote a file which a user has changed since
// and had accepted; see [Options]. It returns "" if there is none.
func (p *Project) Accepted(path string) (command string, err error) {
	if p.File == "" {
		return "", nil
	}
	for _, s := range p.engine().Stages {
		was, err := s.Stamp(p)
		if IsMissing(err) || errors.Is(err, ErrOtherStamp) {
			continue
		}
		if err != nil {
			return "", err
		}
		if was.Changed[p.Inside(path)] != "" {
			return s.Command, nil
		}
	}
	return "", nil
}

// changeOf compares a file with the stamps of the stages that write it. If it matches none,
// the change refers to the latest stamp. It returns nil if the file matches one, or if no
// stage has written it.
func (p *Project) changeOf(path string) (*change, error) {
	info, err := os.Stat(path)
	if err != nil && !IsMissing(err) {
		return nil, err
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // the reader of a missing file reports it
	}
	var c *change
	for _, by := range p.engine().Stages {
		was, err := by.Stamp(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrOtherStamp) ||
			errors.As(err, new(*StampError)) && by.kindOf(p, path) == "" {
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

// kindOf returns the kind of an output of the stage at path by the project's settings, "" if they name none.
func (s Stage) kindOf(p *Project, path string) string {
	for _, f := range p.stageFiles() {
		if f.stage == s.Name && !f.read && f.Kind != "" && atomicfile.Same(f.Path, path) {
			return f.Kind
		}
	}
	return ""
}

// sum returns the SHA-256 of an output, or "" if the stamp has none.
func (was Stamp) sum(path string) string {
	if sum := was.Sums[path]; sum != "" {
		return sum
	}
	if sum, err := hex.DecodeString(was.Out[path]); err == nil && len(sum) == 32 {
		return was.Out[path]
	}
	return ""
}

// sumsOf returns the SHA-256 of the large files, whose fingerprint is not a hash.
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

// accept records the change in the stamp of the stage that wrote the file.
func (c change) accept(p *Project) error {
	print, err := p.engine().fingerprint(c.path)
	if err != nil {
		return err
	}
	was, err := c.by.Stamp(p) // read the stamp again: two files of one stage may have changed
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
