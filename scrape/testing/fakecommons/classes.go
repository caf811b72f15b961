package fakecommons

import (
	"hash/fnv"
	"strconv"
	"sync"
)

// classes assigns an item id to each text of a value or qualifier. The text is the label of
// the item.
type classes struct {
	mu    sync.Mutex
	ids   map[string]string
	texts map[string]string
}

// firstClass is the lowest number of a class. It is above the items of categories in tests.
const firstClass = 500_000_000

// The items of the classes that do not describe a thing.
var special = map[string]string{
	"Wikimedia disambiguation page": "Q4167410", "Wikimedia disambiguation category": "Q15407973",
	"Wikimedia category": "Q4167836",
}

// add registers a value under Value.Class or, if that is empty, under an id of its own.
func (c *classes) add(v Value) {
	if v.Class == "" {
		c.id(v.Text)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make()
	c.ids[v.Text], c.texts[v.Class] = v.Class, v.Text
}

func (c *classes) make() {
	if c.ids == nil {
		c.ids, c.texts = map[string]string{}, map[string]string{}
	}
}

func (c *classes) id(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make()
	if c.ids[text] == "" {
		id := special[text]
		for n := hash(text) % 1_500_000_000; id == ""; n++ { // the same in every server
			if free := "Q" + strconv.FormatUint(firstClass+n, 10); c.texts[free] == "" {
				id = free
			}
		}
		c.ids[text], c.texts[id] = id, text
	}
	return c.ids[text]
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func (c *classes) text(id string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, ok := c.texts[id]
	return text, ok
}
