package dataset

import (
	"errors"
	"strings"

	"hgld/internal/registry"
)

// elsewhere maps names of data sets in other programs to importers.
var elsewhere = map[string]string{
	"imagefolder": "folder", "image_folder": "folder", "folders": "folder", "directory": "folder", "dir": "folder",
	"imagenet": "folder", "images": "folder",
	"table": "csv", "tsv": "csv", "inat": "inaturalist", "inaturalist2018": "inaturalist", "cub200": "cub",
	"cub-200-2011": "cub", "inshop": "in-shop", "cars": "cars196", "stanford-cars": "cars196",
	"aircraft": "fgvc-aircraft", "fgvc_aircraft": "fgvc-aircraft", "mscoco": "coco", "roboflow": "coco",
	"stanford_online_products": "sop", "gld": "gldv2", "landmarks": "gldv2", "huggingface": "parquet", "hf": "parquet",
}

// Find returns the importer called name. The error is a *registry.UnknownError, which
// proposes the importer that other programs call so, or the one of the nearest name.
func Find(name string) (Importer, error) {
	importer, err := All.Get("data set", name)
	var unknown *registry.UnknownError
	if meant := elsewhere[strings.ToLower(name)]; errors.As(err, &unknown) && meant != "" {
		unknown.Nearest = meant
	}
	return importer, err
}
