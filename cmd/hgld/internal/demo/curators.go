package demo

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"hgld/curate"
	"hgld/internal/filehash"
	"hgld/labels"
)

// began is the time of the bundled curators' first edit. It is fixed, so that the demo always
// produces the same bytes.
var began = time.Date(2026, time.November, 2, 9, 0, 0, 0, time.UTC)

// curateAs writes the log of a bundled curator: one move and one kind for each supercategory,
// then the dropped tags. wants returns the group of a tag, or "" to leave the tag where it is.
func curateAs(by, path string, w *world, session *curate.Session, header curate.Header,
	wants func(worldTag) string) (err error) {
	header.By, header.Created = by, began
	if err := curate.CreateLog(path, header); err != nil {
		return err
	}
	log, _, err := curate.OpenLog(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	apply := func(e curate.Edit) error {
		e.By, e.Base, e.At = by, session.Version(), began.Add(time.Duration(session.Version()+1)*time.Minute)
		_, err := session.Apply(e, log.Append)
		return err
	}
	if err := moveAll(w, session, wants, apply); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// moveAll moves the tags of every supercategory into it and sets its kind.
func moveAll(w *world, session *curate.Session, wants func(worldTag) string,
	apply func(curate.Edit) error) error {
	chosen := map[string][]curate.Ref{}
	for _, tag := range w.tags {
		ref := curate.Ref{Name: tag.name()}
		if _, found := session.Find(ref); !found || slices.Contains(chosen[wants(tag)], ref) {
			continue
		}
		chosen[wants(tag)] = append(chosen[wants(tag)], ref)
	}
	for _, g := range w.groups {
		if len(chosen[g.name]) == 0 {
			continue
		}
		if err := apply(curate.Edit{Op: curate.Move, From: chosen[g.name], To: g.name}); err != nil {
			return err
		}
	}
	if len(chosen[dropped]) > 0 {
		if err := apply(curate.Edit{Op: curate.Drop, From: chosen[dropped], Note: "no kind of landmark"}); err != nil {
			return err
		}
	}
	for _, kind := range curate.Kinds {
		var names []curate.Ref
		for _, g := range w.groups {
			if g.kind == kind && len(chosen[g.name]) > 0 {
				names = append(names, curate.Ref{Name: g.name})
			}
		}
		if len(names) == 0 {
			continue
		}
		if err := apply(curate.Edit{Op: curate.SetParent, Level: 1, From: names, To: kind}); err != nil {
			return err
		}
	}
	return nil
}

// curateBlind writes the logs of two curators who work independently, and of the adjudicator
// who decides where they differ.
func (d *demo) curateBlind() (*curate.ManyComparison, error) {
	path := d.path("draft.json")
	draft, err := labels.OpenDraft(path)
	if err != nil {
		return nil, err
	}
	header := curate.Header{Draft: "draft.json", Levels: curate.DefaultLevels}
	if header.DraftSHA256, _, err = filehash.SHA256(d.ctx, path); err != nil {
		return nil, err
	}
	sessions := make([]*curate.Session, 2)
	var sums []string
	for i, log := range []string{annaLog, borisLog} {
		if sessions[i], err = curate.NewSession(draft, header.Levels); err != nil {
			return nil, err
		}
		name := []string{"Anna", "Boris"}[i]
		wants := func(t worldTag) string { return t.by[i] }
		if err := curateAs(name, d.path(log), d.world, sessions[i], header, wants); err != nil {
			return nil, err
		}
		sum, _, err := filehash.SHA256(d.ctx, d.path(log))
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	third, comparison, err := curate.Adjudicate(sessions...)
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, d := range comparison.Differences {
		open[draft.Tags[d.Tag].Name] = true
	}
	decide := func(t worldTag) string {
		if !open[t.name()] {
			return ""
		}
		return t.final
	}
	header.Adjudicates = sums
	return comparison, curateAs("Chris", d.path(finalLog), d.world, third, header, decide)
}
