// Package dataset imports data sets for stage 4 of hgld: each importer reads one
// layout of images and labels and is a shards.Source.
//
// Images are read in place, from a folder or member by member from a zip or tar file.
// Nothing is unpacked to disk.
package dataset

import (
	"context"

	"hgld/internal/registry"
	"hgld/labels"
	"hgld/shards"
)

// Settings describe where a data set is and how to read its files. An importer refuses
// settings that it does not use.
type Settings struct {
	Input   string       // file or folder
	Images  string       // folder, .zip or .tar with the images, where Input does not hold them
	Labels  string       // label file of stage 3 (labels.csv), joined by landmark_id
	Levels  []string     // names of the levels, finest first
	Split   labels.Split // of images that no column or folder gives one; default train
	Columns Columns      // headers of a CSV

	// SplitFolders are FOLDER=SPLIT for the folders at the top of a folder data set, or
	// "none" if they are classes in spite of their names.
	SplitFolders []string

	// PartialLabels selects how a folder or a table treats images that lack levels: "" and "refuse" return an
	// error; with "keep" and "drop", they have no class there; with "repeat", the innermost folder of a folder
	// data set is also the class of the missing finer levels. [Labelled] leaves out what "drop" has kept.
	PartialLabels string

	// NAValues are the cells of a table that mean no class besides the empty one and −1; with
	// [spelling.MissingEmpty], −1 is a class. None: also nan, None, NA and their kin, unless they may be classes.
	NAValues []string

	// Subset says which training images of gldv2 are taken, one of [GLDv2Subsets]; "": the clean ones if
	// their list is there.
	Subset string

	// Wanted tells of which groups of items the attributes are needed; nil: of all. See shards.Item.Group.
	Wanted func(group int) bool

	// Extensions are those of image files beyond the usual ones, such as ".heic", that a decoder
	// on this machine reads. A folder data set leaves out other files.
	Extensions []string
}

// Importer opens data sets of one layout.
type Importer interface {
	// Open opens the data set that the settings name.
	Open(ctx context.Context, s Settings) (shards.Source, error)
}

// All lists the importers.
var All = registry.Table[Importer]{
	{Name: "folder", About: "class folders of any depth: fruit/apple/red/1.jpg; a first folder called train, val, test " +
		"… is the split", Value: Folder{}},
	{Name: "csv", About: "a table with a path, label columns (levels, finest first) or a landmark_id (labels), and " +
		"optionally split, author, license …", Value: CSV{}},
	{Name: "parquet", About: "a Hugging Face data set in Parquet: images with their bytes, label columns (levels, " +
		"finest first), splits by file name (train-00000-of-00002.parquet)", Value: Parquet{}},
	{Name: "webdataset", About: "TAR files of samples, as the webdataset library reads them: 0001.jpg with its " +
		"classes in 0001.cls or in fields of 0001.json", Value: WebDataset{}},
	{Name: "gldv2", About: "Google Landmarks v2 from its tables and TARs, with the labels of stage 3: landmark < " +
		"supercategory < kind", Value: GLDv2{}},
	{Name: "sop", About: "Stanford Online Products, by Ebay_train.txt and Ebay_test.txt: product < category",
		Value: SOP{}},
	{Name: "cub", About: "CUB-200-2011, classes 1–100 against 101–200: class < family < order", Value: CUB{}},
	{Name: "cars196", About: "Cars196, by cars_annos.mat, classes 1–98 against 99–196: class < make", Value: Cars{}},
	{Name: "inaturalist",
		About: "iNaturalist 2018, by Inat_dataset_splits: species < genus < … < kingdom; levels species,group for " +
			"iNat-base", Value: INaturalist{}},
	{Name: "fgvc-aircraft", About: "FGVC-Aircraft, by data/images_variant_train.txt …: variant < family < manufacturer",
		Value: Aircraft{}},
	{Name: "coco", About: "annotations in the format of COCO, each image with the class of its boxes: category < " +
		"supercategory", Value: COCO{}},
	{Name: "coco-crops", About: "the same annotations, an image of each box", Value: COCOCrops{}},
	{Name: "dyml", About: "DyML-Vehicle, -Animal or -Product: fine < middle < coarse; levels fine for the benchmark " +
		"of that level", Value: DyML{}},
	{Name: "in-shop", About: "DeepFashion In-shop, by list_eval_partition.txt: item < category; splits train, query, " +
		"gallery", Value: InShop{}},
}
