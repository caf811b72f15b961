package serve

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// suggestions is the number of groups that the page offers, by the keys 1 to 5.
const suggestions = 5

// selection reads the tags whose neighbours a request asks for. If it returns false, it has answered.
func (s *Server) selection(w http.ResponseWriter, r *http.Request) (tags []int, ok bool) {
	var q struct {
		Tags []int `json:"tags"`
	}
	if !readJSON(w, r, &q) || !s.checkTags(w, q.Tags) {
		return nil, false
	}
	if s.c.Suggester == nil {
		http.Error(w, "this draft has no vectors", http.StatusNotFound)
		return nil, false
	}
	return q.Tags, true
}

// suggest answers with the groups nearest to a selection of tags, without the group
// that all of them are in. Groups that a person named come first: on the published labels they hold
// the right group in 87 % of moves, and the five nearest of all groups in 69 %.
func (s *Server) suggest(w http.ResponseWriter, r *http.Request) {
	tags, ok := s.selection(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	own := s.session.Node(0, tags[0]).Parent
	for _, i := range tags {
		if s.session.Node(0, i).Parent != own {
			own = -1
		}
	}
	declared := listNear(s.c.Suggester.Nearest(tags, suggestions, func(g int) bool {
		return g == own || s.session.OwnName(g) == ""
	}))
	near := declared
	if more := suggestions - len(declared); more > 0 {
		near = append(near, listNear(s.c.Suggester.Nearest(tags, more, func(g int) bool {
			return g == own || s.session.OwnName(g) != ""
		}))...)
	}
	version := s.session.Version()
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"version": version, "near": near})
}

// near is a group or a tag, and its distance from what was asked about.
type near struct {
	At       int     `json:"at"` // place of the group, or the tag
	Distance float64 `json:"distance"`
}

// listNear joins what a Suggester returns.
func listNear(at []int, distances []float64) []near {
	var list []near
	for i := range at {
		list = append(list, near{at[i], distances[i]})
	}
	return list
}

// checkTags checks the tags that a request names; it answers errors itself.
func (s *Server) checkTags(w http.ResponseWriter, tags []int) bool {
	size := len(s.draftCluster)
	if len(tags) == 0 || len(tags) > size {
		http.Error(w, "the request names no tags", http.StatusBadRequest)
		return false
	}
	for _, i := range tags {
		if i < 0 || i >= size {
			http.Error(w, fmt.Sprintf("there is no tag %d", i), http.StatusBadRequest)
			return false
		}
	}
	return true
}

// mostCandidates is the number of tags from other groups that a group is offered.
const mostCandidates = 60

// candidates answers with the undecided tags outside a group that are nearest to it.
func (s *Server) candidates(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Group int `json:"group"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	if s.c.Suggester == nil {
		http.Error(w, "this draft has no vectors", http.StatusNotFound)
		return
	}
	list, version, there := s.nearCandidates(q.Group)
	if !there {
		http.Error(w, "there is no such group", http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"version": version, "near": list})
}

// nearCandidates finds the candidates for a group, and reports whether there is such a group.
func (s *Server) nearCandidates(group int) (list []near, version int, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if group < 0 || group >= s.session.Size(1) || s.session.Node(1, group).Gone {
		return nil, 0, false
	}
	list = listNear(s.c.Suggester.Candidates(group, mostCandidates, func(i int) bool {
		n := s.session.Node(0, i)
		return n.Parent != group && !n.Decided
	}))
	return list, s.session.Version(), true
}

// like answers with the tags nearest to a selection of tags, decided ones included.
func (s *Server) like(w http.ResponseWriter, r *http.Request) {
	tags, ok := s.selection(w, r)
	if !ok {
		return
	}
	given := map[int]bool{}
	for _, i := range tags {
		given[i] = true
	}
	s.mu.Lock()
	list := listNear(s.c.Suggester.Like(tags, mostLike, func(i int) bool { return !given[i] }))
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"near": list})
}

// mostLike is the number of tags that are shown as like others.
const mostLike = 100

// split answers with the preview of a split, which the page turns into an edit.
func (s *Server) split(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tags []int  `json:"tags"`
		K    int    `json:"k"`
		Seed uint64 `json:"seed"`
	}
	if !readJSON(w, r, &q) || !s.checkTags(w, q.Tags) {
		return
	}
	if s.c.Splitter == nil {
		http.Error(w, "this draft has no vectors", http.StatusNotFound)
		return
	}
	if q.K < 2 || q.K > 8 || q.K > len(q.Tags) {
		why := fmt.Sprintf("a split of %d labels into %d parts; want 2 to 8 parts, with at least one label each",
			len(q.Tags), q.K)
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: why})
		return
	}
	parts, err := s.c.Splitter.Split(r.Context(), q.Tags, q.K, q.Seed)
	if err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"parts": parts})
}

// plane answers with the map of all tags, which the first request makes.
func (s *Server) plane(w http.ResponseWriter, r *http.Request) {
	if s.c.Mapper == nil {
		http.Error(w, "this draft has no vectors", http.StatusNotFound)
		return
	}
	places, err := s.mapPlaces(r.Context())
	if err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"places": places})
}

// mapPlaces returns the map and makes it if necessary.
func (s *Server) mapPlaces(ctx context.Context) ([][2]float32, error) {
	s.mapMu.Lock()
	defer s.mapMu.Unlock()
	if s.places == nil {
		places, err := s.c.Mapper.Map(ctx)
		if err != nil {
			return nil, err
		}
		s.places = places
	}
	return s.places, nil
}

// mostExamples is the number of landmarks that are shown for a tag.
const mostExamples = 6

// examples answers with landmarks that carry a tag.
func (s *Server) examples(w http.ResponseWriter, r *http.Request) {
	tag, err := strconv.Atoi(r.URL.Query().Get("tag"))
	if err != nil {
		tag = -1
	}
	if !s.checkTags(w, []int{tag}) {
		return
	}
	if s.c.Examples == nil {
		http.Error(w, "no tags.jsonl is given", http.StatusNotFound)
		return
	}
	var list []Example
	err = s.c.Examples.Examples(tag, mostExamples, func(title, link string, images []string) {
		x := Example{Title: title, Link: link}
		for _, name := range images {
			x.Images = append(x.Images, s.guard.stamp(name))
		}
		list = append(list, x)
	})
	if err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"examples": list})
}

// mostThumbnails is the number of labels that a request names at most: more than a screen
// shows.
const mostThumbnails = 500

// thumbnails answers with an image of each of the labels in ?tags=1,2,…, in their order, for
// /image/NAME?small: "" for a label without images.
func (s *Server) thumbnails(w http.ResponseWriter, r *http.Request) {
	if s.c.Examples == nil {
		http.Error(w, "no tags.jsonl is given", http.StatusNotFound)
		return
	}
	var tags []int
	for text := range strings.SplitSeq(r.URL.Query().Get("tags"), ",") {
		tag, err := strconv.Atoi(text)
		if err != nil {
			tag = -1
		}
		tags = append(tags, tag)
	}
	if len(tags) > mostThumbnails {
		http.Error(w, fmt.Sprintf("%d labels are asked for, want %d at most", len(tags), mostThumbnails),
			http.StatusBadRequest)
		return
	}
	if !s.checkTags(w, tags) {
		return
	}
	names := make([]string, len(tags))
	for i, tag := range tags {
		err := s.c.Examples.Examples(tag, 1, func(_, _ string, images []string) {
			if len(images) > 0 {
				names[i] = s.guard.stamp(images[0])
			}
		})
		if err != nil {
			writeJSON(w, http.StatusUnprocessableEntity, answer{Error: err.Error()})
			return
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"thumbnails": names})
}

// image answers with the bytes of an example, with ?small those of its thumbnail. It sends
// only what its first bytes show to be an image.
func (s *Server) image(w http.ResponseWriter, r *http.Request) {
	if s.c.Examples == nil {
		http.NotFound(w, r)
		return
	}
	name, told := s.guard.stamped(r.PathValue("name"))
	if !told {
		http.NotFound(w, r)
		return
	}
	find := s.c.Examples.Image
	if r.URL.Query().Has("small") {
		find = s.c.Examples.Thumbnail
	}
	data, err := find(r.Context(), name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	kind := http.DetectContentType(data)
	switch kind {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		http.Error(w, "not an image that browsers can show", http.StatusUnsupportedMediaType)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=3600")
	w.Write(data)
}

// agreement answers with the comparison of the curators.
func (s *Server) agreement(w http.ResponseWriter, _ *http.Request) {
	if s.c.Compared == nil {
		http.Error(w, "this is not an adjudication", http.StatusNotFound)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"names": s.c.Names, "comparison": s.c.Compared})
}
