package serve

import (
	"cmp"
	"net/http"
	"slices"

	"hgld/curate"
)

// View is the state of a session for the page, or the part of it that is newer than a
// version. Lists are columns: their n-th entries belong together.
type View struct {
	// Draft identifies the draft; a View of another draft is useless.
	Draft   string      `json:"draft"`
	Version int         `json:"version"` // number of edits
	Undo    int         `json:"undo"`    // number of the edit that undo reverts, 0 for none
	Redo    int         `json:"redo"`    // number of the edit that redo reverts, 0 for none
	Last    *past       `json:"last"`    // latest edit of anybody that could be undone, nil for none
	Sizes   []int       `json:"sizes"`   // number of places of each level
	Tags    tagView     `json:"tags"`    // changed tags
	Groups  []groupView `json:"groups"`  // changed groups of each coarser level
}

type tagView struct {
	At       []int             `json:"at"`
	Parent   []int             `json:"parent"`
	Status   []int             `json:"status"`          // sum of the bits below
	Distance []float32         `json:"distance"`        // to the centroid of the group
	Placed   []int             `json:"placed"`          // number of the edit that decided or proposed it, 0 for none
	Extra    map[int][]string  `json:"extra,omitempty"` // extra groups, for tags that have some
	Remarks  map[int][4]string `json:"remarks"`         // reason of the drop, of the flag, note, author of the flag; for tags that have one
}

// The bits of a tag's status. An outlier of the draft counts as one while it is in its
// draft cluster.
const (
	statusDecided = 1 << iota
	statusDropped
	statusFlagged
	statusOutlier
	statusProposed
)

type groupView struct {
	Level    int    `json:"level"`
	At       int    `json:"at"`
	Name     string `json:"name"`
	Parent   int    `json:"parent"`
	Declared bool   `json:"declared,omitempty"`
	Gone     bool   `json:"gone,omitempty"`
	Flagged  bool   `json:"flagged,omitempty"`
	Flag     string `json:"flag,omitempty"`
	Note     string `json:"note,omitempty"`

	Extra []string `json:"extra,omitempty"` // extra parents
}

// viewSince returns what has changed after a version, and everything for version −1. by is who can undo their edits.
func (s *Server) viewSince(version int, by string) *View {
	v := &View{Draft: s.draft, Version: s.session.Version(),
		Tags: tagView{Remarks: map[int][4]string{}, Extra: map[int][]string{}}, Groups: []groupView{}}
	v.Undo, v.Redo = s.session.Undo(by)
	if last := s.session.Last(); last > 0 {
		v.Last = new(describe(s.session.Edit(last), true))
	}
	for _, seen := range s.seen {
		v.Sizes = append(v.Sizes, len(seen))
	}
	places := s.changedSince(version)
	v.Tags.grow(len(places))
	for _, p := range places {
		if p.Level == 0 {
			s.addTag(&v.Tags, p.At)
			continue
		}
		n := s.session.Node(p.Level, p.At)
		v.Groups = append(v.Groups, groupView{Level: p.Level, At: p.At, Name: n.Name, Parent: n.Parent, Declared: n.Declared,
			Gone:    n.Gone,
			Flagged: n.Flagged, Flag: n.Flag, Note: n.Note, Extra: n.ExtraParents})
	}
	return v
}

// grow allocates room for n tags.
func (v *tagView) grow(n int) {
	if n > 0 {
		v.At, v.Parent, v.Status, v.Placed = make([]int, 0, n), make([]int, 0, n), make([]int, 0, n), make([]int, 0, n)
		v.Distance = make([]float32, 0, n)
	}
}

// changedSince lists the places that changed after a version, in order.
func (s *Server) changedSince(version int) (places []curate.Place) {
	if version < s.recentFrom {
		places = make([]curate.Place, 0, len(s.draftCluster))
		for l, seen := range s.seen {
			for at, changed := range seen {
				if int(changed) > version {
					places = append(places, curate.Place{Level: l, At: at})
				}
			}
		}
		return places
	}
	for _, p := range slices.Backward(s.recent) {
		if seen := s.seen[p.Level]; p.At < len(seen) { // a Revert may have removed it
			if int(seen[p.At]) <= version {
				break
			}
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b curate.Place) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level),
			cmp.Compare(a.At, b.At))
	})
	return slices.Compact(places)
}

func (s *Server) addTag(v *tagView, at int) {
	n := s.session.Node(0, at)
	status, distance := s.status(n, at), s.draftDistance[at]
	if x, moved := s.moved[at]; moved {
		distance = x.d
	}
	v.At = append(v.At, at)
	v.Parent = append(v.Parent, n.Parent)
	v.Status = append(v.Status, status)
	v.Distance = append(v.Distance, distance)
	v.Placed = append(v.Placed, n.Placed)
	if len(n.ExtraParents) > 0 {
		v.Extra[at] = n.ExtraParents
	}
	if n.Reason != "" || n.Flagged || n.Note != "" {
		v.Remarks[at] = [4]string{n.Reason, n.Flag, n.Note, n.FlagBy}
	}
}

func (s *Server) status(n curate.Node, at int) (status int) {
	for _, b := range []struct {
		on  bool
		bit int
	}{{n.Decided, statusDecided}, {n.Dropped, statusDropped}, {n.Flagged, statusFlagged},
		{n.Proposed, statusProposed},
		{s.outlier[at] && n.Parent == int(s.draftCluster[at]), statusOutlier}} {
		if b.on {
			status |= b.bit
		}
	}
	return status
}

// updatePlaces passes changes to the suggester, and updates the distances of moved tags. The lock is
// held.
func (s *Server) updatePlaces(changed []curate.Place) {
	groups, names, tags, in, decided := Where(s.session, changed)
	if s.c.Suggester != nil {
		s.c.Suggester.Place(groups, names, tags, in, decided)
		s.updateNames(changed)
	}
	for i, tag := range tags {
		s.updateDistance(tag, in[i])
	}
}

// updateDistance records the distance of a tag from the centroid of the group it was moved to.
// In its draft cluster a tag keeps the draft's distance, so that the order on the
// screen stays.
func (s *Server) updateDistance(tag, group int) {
	if group == int(s.draftCluster[tag]) || group < 0 {
		delete(s.moved, tag)
		return
	}
	if x, known := s.moved[tag]; known && x.group == group {
		return
	}
	x := distanceRow{group: group}
	if s.c.Suggester != nil {
		x.d = float32(s.c.Suggester.Distance(tag))
	}
	s.moved[tag] = x
}

// fullState is what the page loads first: the view and what never changes.
type fullState struct {
	By        string          `json:"by"`
	Log       string          `json:"log"`
	Queue     string          `json:"queue"` // names this log in the browser's storage
	Levels    []string        `json:"levels"`
	Kinds     []string        `json:"kinds"`
	Names     []string        `json:"names"` // of the tags, by column
	Items     []string        `json:"items"` // their Wikidata items
	Landmarks []int           `json:"landmarks"`
	Images    []int           `json:"images"`
	New       []int           `json:"new"` // tags that an earlier draft did not have
	Has       map[string]bool `json:"has"` // what this page can do
	*View
}

// state answers with everything.
func (s *Server) state(r *http.Request) (any, error) {
	s.mu.Lock()
	view := s.viewSince(-1, s.author(r))
	s.mu.Unlock()
	a := fullState{By: s.author(r), Log: s.c.Log, Queue: s.queue(memberOf(r)),
		Levels: s.session.Levels(), Kinds: curate.Kinds,
		New: s.c.New, View: view,
		Has: map[string]bool{"suggest": s.c.Suggester != nil, "split": s.c.Splitter != nil, "map": s.c.Mapper != nil,
			"examples":   s.c.Examples != nil,
			"thumbnails": s.c.Examples != nil && s.c.Examples.HasImages(),
			"agreement":  s.c.Compared != nil, "finish": s.c.WriteHierarchy != nil,
			"propose": s.c.Suggester != nil && s.c.Namer != nil}}
	tags := s.session.Draft().Tags
	a.Names, a.Items, a.Landmarks, a.Images = make([]string, 0, len(tags)), make([]string, 0, len(tags)),
		make([]int, 0, len(tags)), make([]int, 0, len(tags))
	for _, t := range tags {
		a.Names, a.Items = append(a.Names, t.Name), append(a.Items, t.QID)
		a.Landmarks, a.Images = append(a.Landmarks, t.Landmarks), append(a.Images, t.Images)
	}
	return a, nil
}
