package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"math"
	"strings"
	"sync"

	"hgld/internal/parts"
)

var (
	//go:embed explorer.html
	explorerText string
	//go:embed explorer.css
	explorerStyle string
	//go:embed explorer.js
	explorerModule string
)

var explorerTemplate = template.Must(template.New("explorer").Parse(explorerText))

// explorerScript is the script with the parts that other pages share. It panics if one is missing.
var explorerScript = sync.OnceValue(func() template.JS {
	text, err := parts.Script(explorerModule, "dom.js", "virtualscroll.js", "map.js")
	if err != nil {
		panic(err)
	}
	return template.JS(text)
})

// Explorer is the interactive part of a page about rankings: the queries to filter and sort, what each retrieves,
// pictures that open large, a map with a lasso, and a list of suspected labels to save.
type Explorer struct {
	Note    string     `json:"-"`       // above the list
	Legend  []Legend   `json:"-"`       // explains the colours of the frames
	Places  int        `json:"-"`       // most items of a ranking
	MapNote string     `json:"-"`       // above the map
	Key     string     `json:"key"`     // set by App: tells pages of other items at the same address apart
	Metric  string     `json:"metric"`  // of Query.Value
	Models  []string   `json:"models"`  // one, or two that are compared
	Levels  []string   `json:"levels"`  // finest first
	Judged  bool       `json:"judged"`  // the levels are grades of judgements, and there are no classes
	Classes [][]string `json:"classes"` // names, by level
	Items   []*Item    `json:"items"`   // queries and what they retrieve, in the order in which they get pictures
	Queries []Query    `json:"queries"` // in the order of the data
	Left    int        `json:"left"`    // queries that are not on the page
	Map     *QueryMap  `json:"map"`     // nil: none
}

// Item is an image, or a vector without one.
type Item struct {
	ID      string       `json:"id"`                // its name
	Path    string       `json:"path,omitempty"`    // of its file; "": unknown
	Split   string       `json:"split,omitempty"`   // "": unknown
	Classes []int        `json:"classes"`           // by level, −1 for none
	Source  template.URL `json:"src,omitempty"`     // of the picture; "": there is none
	Missing string       `json:"missing,omitempty"` // why there is no picture

	// Box is the part of the image that counts: its left, upper, right and lower edge in pixels. nil: all of it.
	Box *[4]int `json:"box,omitempty"`
}

// Query is a query with what each model retrieves for it.
type Query struct {
	Item   int     `json:"item"`   // in Explorer.Items
	Value  []Score `json:"value"`  // by model
	Found  [][]int `json:"found"`  // by model, the items from the first place on
	Shared [][]int `json:"shared"` // for each of them, the levels that it shares with the query
}

// QueryMap has places of queries in the unit square.
type QueryMap struct {
	Query []int     `json:"query"` // in Explorer.Queries
	X     []float64 `json:"x"`     // of each, from the left
	Y     []float64 `json:"y"`     // of each, from the top
}

// Score is a number, and null in JSON if it is NaN.
type Score float64

// MarshalJSON writes the number or null.
func (f Score) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// App returns the part of the page.
func (x *Explorer) App() (*App, error) {
	sum := sha256.New()
	beside := false
	for _, item := range x.Items {
		sum.Write([]byte(item.ID + "\n"))
		beside = beside || item.Source != "" && !strings.HasPrefix(string(item.Source), "data:")
	}
	x.Key = hex.EncodeToString(sum.Sum(nil)[:8])
	var markup strings.Builder
	if err := explorerTemplate.Execute(&markup, x); err != nil {
		return nil, err
	}
	return &App{Markup: template.HTML(markup.String()), Style: template.CSS(explorerStyle), Script: explorerScript(),
		Data: x, Beside: beside}, nil
}

// NewMap scales points, x and y of each query in turn, into the unit square, both axes alike.
func NewMap(queries []int, xy []float32) *QueryMap {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for i, v := range xy {
		low[i%2], high[i%2] = min(low[i%2], float64(v)), max(high[i%2], float64(v))
	}
	wide := max(high[0]-low[0], high[1]-low[1], 1e-9)
	m := &QueryMap{Query: queries}
	at := func(i, axis int) float64 {
		v := 0.5 + 0.94*(float64(xy[2*i+axis])-(low[axis]+high[axis])/2)/wide
		return math.Round(1e4*v) / 1e4
	}
	for i := range queries {
		m.X, m.Y = append(m.X, at(i, 0)), append(m.Y, at(i, 1))
	}
	return m
}
