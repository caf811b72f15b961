package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hgld/labels"
)

// identity is what makes a tag distinct.
type identity struct{ name, qid string }

// Tags lists the distinct tags of the records, by text byte for byte and by Wikidata
// item, with the number of landmarks that carry each. Tags with most landmarks come
// first, then they are in byte order. Records without a tag do not count. The same
// number in train and in index is two landmarks.
func Tags(records []labels.Record) []labels.DraftTag {
	carriers := map[identity]map[labels.LandmarkKey]bool{}
	for _, r := range records {
		if r.Outcome != labels.OK || r.Tag == "" {
			continue
		}
		key := identity{r.Tag, r.QID}
		if carriers[key] == nil {
			carriers[key] = map[labels.LandmarkKey]bool{}
		}
		carriers[key][labels.LandmarkKey{Split: r.Split, Landmark: r.Landmark}] = true
	}
	tags := make([]labels.DraftTag, 0, len(carriers))
	for key, of := range carriers {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: key.name, QID: key.qid}, Landmarks: len(of)})
	}
	slices.SortFunc(tags, func(a, b labels.DraftTag) int {
		return cmp.Or(cmp.Compare(b.Landmarks, a.Landmarks), cmp.Compare(a.Name, b.Name), cmp.Compare(a.QID, b.QID))
	})
	return tags
}

// Names returns the texts of tags, as Embed takes them.
func Names(tags []labels.DraftTag) []string {
	names := make([]string, len(tags))
	for i, t := range tags {
		names[i] = t.Name
	}
	return names
}

// Fingerprint returns the SHA-256 of the tags' texts and items in order. Vectors of
// tags with the same fingerprint belong to the same rows.
func Fingerprint(tags []labels.DraftTag) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, t := range tags {
		if err := enc.Encode([2]string{t.Name, t.QID}); err != nil {
			panic(err) // encoding strings and writing to a hash cannot fail
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CountImages adds to each tag the number of images of the landmarks that carry it.
func CountImages(tags []labels.DraftTag, records []labels.Record, images map[labels.LandmarkKey]int) {
	at := map[identity]int{}
	for i, t := range tags {
		at[identity{t.Name, t.QID}] = i
	}
	type carrier struct {
		tag int
		key labels.LandmarkKey
	}
	counted := map[carrier]bool{}
	for _, r := range records {
		i, listed := at[identity{r.Tag, r.QID}]
		c := carrier{i, labels.LandmarkKey{Split: r.Split, Landmark: r.Landmark}}
		if r.Outcome == labels.OK && listed && !counted[c] {
			counted[c] = true
			tags[i].Images += images[c.key]
		}
	}
}

// KnownFrom gives the tags the groups that they have in an earlier hierarchy: the
// classes above its finest level, in their order. A tag is looked up by text and
// item, then by its item alone, whose label may have changed since, then by its text
// alone, each where that is unambiguous. A tag without a group there that has the name of one,
// but for case and white space, joins it. Groups without a tag in the list are left out, and
// nil is returned if none is left.
func KnownFrom(tags []labels.DraftTag, h *labels.Hierarchy) *Known {
	earlier := parentsOf(h)
	k, index := &Known{Of: make([]int32, len(tags))}, map[int32]int32{}
	parents, used := make([]int32, len(tags)), map[int32]bool{}
	namesakes := namesakesOf(h.Levels[1].Classes)
	for i, t := range tags {
		parents[i] = earlier.find(t.Tag)
		if g, is := namesakes[foldName(t.Name)]; is && parents[i] < 0 {
			parents[i] = g
		}
		used[parents[i]] = true
	}
	for g, c := range h.Levels[1].Classes {
		if used[int32(g)] {
			index[int32(g)] = int32(len(k.Names))
			k.Names = append(k.Names, c.Name)
		}
	}
	if len(k.Names) == 0 {
		return nil
	}
	for i, parent := range parents {
		k.Of[i] = -1
		if g, known := index[parent]; known {
			k.Of[i] = g
		}
	}
	return k
}

// foldName is a name without the differences of case and white space.
func foldName(name string) string { return strings.Join(strings.Fields(strings.ToLower(name)), " ") }

// namesakesOf returns the place of each class by its folded name, where that is unambiguous.
func namesakesOf(classes []labels.Class) map[string]int32 {
	places := map[string]int32{}
	twice := map[string]bool{}
	for g, c := range classes {
		name := foldName(c.Name)
		_, known := places[name]
		twice[name] = twice[name] || known
		places[name] = int32(g)
	}
	maps.DeleteFunc(places, func(name string, _ int32) bool { return twice[name] })
	return places
}

// parents are the groups of an earlier hierarchy's tags, by each way to know a tag
// again. A group of ambiguous has several.
type parents struct {
	exact       map[identity]int32
	item, named map[string]int32
}

const ambiguous = -2

func parentsOf(h *labels.Hierarchy) parents {
	p := parents{map[identity]int32{}, map[string]int32{}, map[string]int32{}}
	add := func(to map[string]int32, key string, parent int32) {
		if other, twice := to[key]; twice && other != parent {
			parent = ambiguous
		}
		to[key] = parent
	}
	for _, c := range h.Levels[0].Classes {
		if c.Parent < 0 {
			continue
		}
		p.exact[identity{c.Name, c.QID}] = c.Parent
		add(p.named, c.Name, c.Parent)
		if c.QID != "" {
			add(p.item, c.QID, c.Parent)
		}
	}
	return p
}

// find returns the group of a tag, or a negative number.
func (p parents) find(t labels.Tag) int32 {
	if parent, found := p.exact[identity{t.Name, t.QID}]; found {
		return parent
	}
	if parent, found := p.item[t.QID]; found && parent >= 0 {
		return parent
	}
	if parent, found := p.named[t.Name]; found {
		return parent
	}
	return -1
}
