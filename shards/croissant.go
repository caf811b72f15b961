package shards

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"hgld/labels"
)

// object is a JSON object. encoding/json writes its keys in alphabetical order.
type object map[string]any

// croissantContext is the context that every Croissant 1.1 document begins with
// (docs.mlcommons.org/croissant).
func croissantContext() object {
	return object{
		"@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
		"conformsTo": "dct:conformsTo",
		"cr":         "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
		"data":     object{"@id": "cr:data", "@type": "@json"},
		"dataType": object{"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/",
		"equivalentProperty": "cr:equivalentProperty",
		"examples":           object{"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field",
		"fileProperty": "cr:fileProperty",
		"fileObject":   "cr:fileObject", "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes",
		"isLiveDataset": "cr:isLiveDataset",
		"jsonPath":      "cr:jsonPath", "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
		"recordSet":  "cr:recordSet",
		"references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace",
		"samplingRate": "cr:samplingRate",
		"sc":           "https://schema.org/", "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField",
		"transform": "cr:transform",
	}
}

const parquetType = "application/x-parquet"

// about describes a companion file in a sentence.
func (c Companion) about() string {
	return map[string]string{
		AttributionFile: "author, licence, title and address of every image, a row an image",
		StatsFile:       "images, sizes, licences, classes and failures, counted",
		BuildFile:       "what the data set was made of: tool, inputs with their hashes, settings, the stages before",
		TaxonomyFile:    "the tree of classes in SKOS",
		LabelsFile:      "the table of classes: numbers, names and images",
	}[c.Name]
}

// mediaType returns the media type of a companion file, as IANA and Croissant call it.
func (c Companion) mediaType() string {
	switch path.Ext(c.Name) {
	case ".parquet":
		return parquetType
	case ".ttl":
		return "text/turtle"
	}
	return "application/json"
}

// croissant returns the description for machines: every shard as a file with its hash,
// the shards of a split as a set of files, the columns of its rows, the companion files,
// and the table of classes.
func (c Card) croissant(m *Manifest, table Companion) ([]byte, error) {
	var files, records []any
	for _, split := range m.Splits() {
		var of []any
		for _, f := range m.Files {
			if f.Split != split {
				continue
			}
			files = append(files, object{"@type": "cr:FileObject", "@id": f.Name, "name": f.Name, "contentUrl": f.Name,
				"contentSize": fmt.Sprintf("%d B", f.Bytes), "encodingFormat": parquetType, "sha256": f.SHA256.String()})
			of = append(of, object{"@id": f.Name})
		}
		set := string(split) + "-shards"
		files = append(files, object{"@type": "cr:FileSet", "@id": set, "name": set,
			"description": fmt.Sprintf("the shards of split %s", split),
			"containedIn": of, "encodingFormat": parquetType, "includes": fmt.Sprintf("data/%s-*.parquet", split)})
		records = append(records, m.records(split, set))
	}
	for _, c := range append(slices.Clip(m.Companions), table) {
		files = append(files, object{"@type": "cr:FileObject", "@id": c.Name, "name": c.Name, "contentUrl": c.Name,
			"description": c.about(),
			"contentSize": fmt.Sprintf("%d B", c.Bytes), "encodingFormat": c.mediaType(), "sha256": c.SHA256.String()})
	}
	doc := object{
		"@context": croissantContext(), "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.1",
		"name": c.Title, "description": cmp.Or(c.Description, c.Title+": images with a hierarchy of classes."),
		"license":      cmp.Or(c.License, "other"),
		"distribution": files, "recordSet": records,
	}
	for key, value := range map[string]string{"url": c.URL, "citeAs": c.Citation} {
		if value != "" {
			doc[key] = value
		}
	}
	text, err := json.MarshalIndent(doc, "", " ")
	return append(text, '\n'), err
}

// records describes the rows of a split.
func (m *Manifest) records(split labels.Split, set string) object {
	var fields []any
	add := func(column, kind, about string, transform object) {
		source := object{"fileSet": object{"@id": set}, "extract": object{"column": column}}
		if transform != nil {
			source["transform"] = transform
		}
		fields = append(fields, object{"@type": "cr:Field", "@id": string(split) + "/" + column, "name": string(split) +
			"/" + column, "description": about, "dataType": kind, "source": source})
	}
	add("image", "sc:ImageObject", "the image file", object{"jsonPath": "bytes"})
	add("image_id", "sc:Text", "16 hexadecimal digits, unique in the data set", nil)
	for _, l := range m.Levels {
		about := fmt.Sprintf("class of level %s; its name is in hierarchy.json", l.Name)
		if strings.HasSuffix(l.Column, "_id") {
			about = fmt.Sprintf("%s, numbered within its split as in GLDv2's files", l.Name)
		}
		add(l.Column, "sc:Integer", about, nil)
	}
	for _, c := range append(imageColumns(), creditColumns()...) {
		kind := "sc:Text"
		if c.node.Type().Kind() == parquet.Int32 {
			kind = "sc:Integer"
		}
		add(c.name, kind, c.about, nil)
	}
	return object{"@type": "cr:RecordSet", "@id": string(split), "name": string(split),
		"description": fmt.Sprintf("the images of split %s", split), "field": fields}
}
