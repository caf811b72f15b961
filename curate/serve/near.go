package serve

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// suggestions is the number of groups that the page offers, by the keys 1 to 5.
const suggestions = 5

// selection is a request about some tags.
type selection struct {
	Tags []int `json:"tags"`
}

// suggest answers with the groups nearest to a selection of tags, without the group
// that all of them are in. Groups that a person named come first: on the published labels they hold
// the right group in 87 % of moves, and the five nearest of all groups in 69 %.
func (s *Server) suggest(_ *http.Request, q selection) (any, error) {
	tags := q.Tags
	if err := s.checkTags(tags); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	return map[string]any{"version": s.session.Version(), "near": near}, nil
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

// checkTags checks the tags that a request names.
func (s *Server) checkTags(tags []int) error {
	size := len(s.draftCluster)
	if len(tags) == 0 || len(tags) > size {
		return badRequest("the request names no tags")
	}
	for _, i := range tags {
		if i < 0 || i >= size {
			return badRequest("there is no tag %d", i)
		}
	}
	return nil
}

// tagsIn reads the tags of an address, "1,2,…".
func (s *Server) tagsIn(text string) ([]int, error) {
	var tags []int
	for number := range strings.SplitSeq(text, ",") {
		tag, err := strconv.Atoi(number)
		if err != nil {
			tag = -1
		}
		tags = append(tags, tag)
	}
	return tags, s.checkTags(tags)
}

// mostCandidates is the number of tags from other groups that a group is offered.
const mostCandidates = 60

// candidates answers with the undecided tags outside a group that are nearest to it.
func (s *Server) candidates(_ *http.Request, q struct {
	Group int `json:"group"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Group < 0 || q.Group >= s.session.Size(1) || s.session.Node(1, q.Group).Gone {
		return nil, badRequest("there is no such group")
	}
	list := listNear(s.c.Suggester.Candidates(q.Group, mostCandidates, func(i int) bool {
		n := s.session.Node(0, i)
		return n.Parent != q.Group && !n.Decided
	}))
	return map[string]any{"version": s.session.Version(), "near": list}, nil
}

// mostLike is the number of tags that are shown as like others.
const mostLike = 100

// like answers with the tags nearest to a selection of tags, decided ones included.
func (s *Server) like(_ *http.Request, q selection) (any, error) {
	if err := s.checkTags(q.Tags); err != nil {
		return nil, err
	}
	given := map[int]bool{}
	for _, i := range q.Tags {
		given[i] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := listNear(s.c.Suggester.Like(q.Tags, mostLike, func(i int) bool { return !given[i] }))
	return map[string]any{"near": list}, nil
}

// split answers with the preview of a split, which the page turns into an edit.
func (s *Server) split(r *http.Request, q struct {
	Tags []int  `json:"tags"`
	K    int    `json:"k"`
	Seed uint64 `json:"seed"`
}) (any, error) {
	if err := s.checkTags(q.Tags); err != nil {
		return nil, err
	}
	if q.K < 2 || q.K > 8 || q.K > len(q.Tags) {
		return nil, fmt.Errorf("a split of %d labels into %d parts; want 2 to 8 parts, with at least one label each",
			len(q.Tags), q.K)
	}
	parts, err := s.c.Splitter.Split(r.Context(), q.Tags, q.K, q.Seed)
	return map[string]any{"parts": parts}, err
}

// plane answers with the map of all tags, which the first request makes.
func (s *Server) plane(r *http.Request) (any, error) {
	s.mapMu.Lock()
	defer s.mapMu.Unlock()
	if s.places == nil {
		places, err := s.c.Mapper.Map(r.Context())
		if err != nil {
			return nil, err
		}
		s.places = places
	}
	return map[string]any{"places": s.places}, nil
}

// mostExamples is the number of landmarks that are shown for a tag.
const mostExamples = 6

// examples answers with landmarks that carry a tag.
func (s *Server) examples(r *http.Request) (any, error) {
	tags, err := s.tagsIn(r.URL.Query().Get("tag"))
	if err != nil {
		return nil, err
	}
	var list []Example
	err = s.c.Examples.Examples(tags[0], mostExamples, func(title, link string, images []string) {
		x := Example{Title: title, Link: link}
		for _, name := range images {
			x.Images = append(x.Images, s.guard.stamp(name))
		}
		list = append(list, x)
	})
	return map[string]any{"examples": list}, err
}

// mostThumbnails is the number of labels that a request names at most: more than a screen
// shows.
const mostThumbnails = 500

// thumbnails answers with an image of each of the labels in ?tags=1,2,…, in their order, for
// /image/NAME?small: "" for a label without images.
func (s *Server) thumbnails(r *http.Request) (any, error) {
	tags, err := s.tagsIn(r.URL.Query().Get("tags"))
	if len(tags) > mostThumbnails {
		return nil, badRequest("%d labels are asked for, want %d at most", len(tags), mostThumbnails)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(tags))
	for i, tag := range tags {
		err := s.c.Examples.Examples(tag, 1, func(_, _ string, images []string) {
			if len(images) > 0 {
				names[i] = s.guard.stamp(images[0])
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return map[string]any{"thumbnails": names}, nil
}

// image answers with the bytes of an example, with ?small those of its thumbnail. It sends
// only what its first bytes show to be an image.
func (s *Server) image(w http.ResponseWriter, r *http.Request) {
	name, told := s.guard.stamped(r.PathValue("name"))
	if !told || s.c.Examples == nil {
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
func (s *Server) agreement(*http.Request) (any, error) {
	return map[string]any{"names": s.c.Names, "comparison": s.c.Compared}, nil
}
