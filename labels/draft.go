package labels

import "encoding/json"

// Draft is draft.json: the clusters of stage 2 that a curator starts from.
type Draft struct {
	Version  int        `json:"hgld_draft"` // format version
	Origin   Origin     `json:"origin"`     // how the draft was made
	Tags     []DraftTag `json:"tags"`       // row i of the vectors file is tag i
	Clusters []Cluster  `json:"clusters"`   // in the order of the file

	Extra map[string]json.RawMessage `json:"-"` // unknown fields, kept on rewriting; so in all types below
}

// Origin records how a draft was made, so that it can be made again.
type Origin struct {
	Tool    string `json:"tool"`    // hgld's version
	Encoder string `json:"encoder"` // name, with the settings that change its output
	// Weights is SHA-256 of the encoder's weights, "" if it has none.
	Weights       string  `json:"weights_sha256,omitempty"`
	Prompt        string  `json:"prompt"`                  // "{}" is replaced by the tag
	Algorithm     string  `json:"algorithm"`               // name of the clustering algorithm
	K             int     `json:"k"`                       // number of clusters asked for
	Seed          uint64  `json:"seed"`                    // of the random starts
	NInit         int     `json:"n_init"`                  // random starts; the best is kept
	Init          string  `json:"init,omitempty"`          // how starts were drawn
	WeightedBy    string  `json:"weighted_by,omitempty"`   // landmarks or images, where a tag counts by its use
	Center        bool    `json:"center,omitempty"`        // the mean of the vectors was subtracted
	PCA           int     `json:"pca,omitempty"`           // principal components that were kept
	Whiten        bool    `json:"whiten,omitempty"`        // each component was divided by its deviation
	Join          string  `json:"join,omitempty"`          // "head" where vectors were joined with the mean of their last word
	Smooth        int     `json:"smooth,omitempty"`        // neighbours that each vector was averaged with
	Given         string  `json:"given,omitempty"`         // hierarchy file whose groups were kept
	GivenSHA256   string  `json:"given_sha256,omitempty"`  // of the file Given
	Groups        string  `json:"groups,omitempty"`        // file of names of groups that the draft has
	GroupsSHA256  string  `json:"groups_sha256,omitempty"` // of the file Groups
	Items         string  `json:"items,omitempty"`         // file of the classes above the tags, where they were used
	ItemsSHA256   string  `json:"items_sha256,omitempty"`  // of the file Items
	Chained       int     `json:"chained,omitempty"`       // tags that have a class above their own there
	Margin        float64 `json:"margin,omitempty"`        // minimum lead of the nearest group name over the second nearest
	Inertia       float64 `json:"inertia"`                 // sum of squared distances to the centroids
	Iterations    int     `json:"iterations"`              // of the best start
	Input         string  `json:"input"`                   // name of the tags file
	InputSHA256   string  `json:"input_sha256"`            // of the file Input
	Vectors       string  `json:"vectors"`                 // file beside draft.json, row i = tag i
	VectorsSHA256 string  `json:"vectors_sha256"`          // of the file Vectors

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// DraftTag is a distinct tag with the number of landmarks that carry it, and of their
// images if these were counted.
type DraftTag struct {
	Tag
	Landmarks int `json:"landmarks"`        // how many carry the tag
	Images    int `json:"images,omitempty"` // of these landmarks, 0 if they were not counted

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// Cluster is a group of tags: a draft of one supercategory.
type Cluster struct {
	ID      int      `json:"id"`                // unique in the draft
	Name    string   `json:"name"`              // the member nearest to the centroid, weighted by use
	Members []Member `json:"members"`           // nearest to the centroid first
	Nearest []int    `json:"nearest,omitempty"` // ids of the most similar clusters, the most similar first

	Class string `json:"class,omitempty"` // item of Wikidata whose label the name is, in a draft by its classes

	Known        bool  `json:"known,omitempty"`        // the name comes from a group of an earlier curation
	Alternatives []int `json:"alternatives,omitempty"` // members whose names would suit next best, best first; indices into Draft.Tags
	Landmarks    int   `json:"landmarks,omitempty"`    // of all members
	Images       int   `json:"images,omitempty"`       // of all members, where a count was given

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// Member is a tag in a cluster with its Euclidean distance to the centroid.
type Member struct {
	Tag      int     `json:"tag"`               // index into Draft.Tags
	Distance float64 `json:"distance"`          // Euclidean, to the centroid
	Outlier  bool    `json:"outlier,omitempty"` // farther from the centroid than is usual in its cluster

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}
