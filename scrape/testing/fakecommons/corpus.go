package fakecommons

import (
	"fmt"
	"strings"

	"hgld/labels"
)

// Corpus returns n categories in roughly the proportions of GLDv2. Of a hundred, five are
// category redirects, two hard redirects, two missing, one is a disambiguation page, twelve
// have a main topic, and six have an item without "instance of". Most of the others have
// one value out of 6,000 classes, which are called after their groups: "old alpine church". The
// titles use several scripts.
func Corpus(n int) []Category {
	all := make([]Category, n)
	for i := range all {
		all[i] = corpusCategory(i, all)
	}
	return all
}

const corpusClasses = 6000

var corpusNames = []string{
	"Church of St. Mary, %d", "Städtisches Museum %d (Göttingen)", "Château de l'Île %d", "第%d公園", "Парк № %d",
	"Wat %d & Garden", "Castle \"%d\"?", "مسجد %d",
}

// corpusKinds are what the groups of classes are kinds of, and corpusGroups the groups: group g is of kind g%6.
var (
	corpusKinds = []string{"religious building", "fortification", "transport structure", "cultural venue", "memorial",
		"landform"}
	corpusGroups = strings.Split("church, castle, bridge, museum, cemetery, mountain, chapel, fort, viaduct, "+
		"theatre, monument, lake, cathedral, fortress, aqueduct, library, statue, island, basilica, citadel, tunnel, "+
		"art gallery, obelisk, bay, monastery, city wall, railway station, concert hall, mausoleum, beach, abbey, city "+
		"gate, lighthouse, opera house, tomb, waterfall, mosque, bastion, harbour, stadium, war memorial, "+
		"cave, synagogue, keep, canal, racecourse, cenotaph, valley, temple, watchtower, lock, arena, "+
		"fountain, river, shrine, palisade, pier, cinema, column, glacier, pagoda, moat, airport, zoo, bust, "+
		"cape, minster, blockhouse, tramway, amphitheatre, plaque, hill, baptistery, barracks, ferry "+
		"terminal, circus, cairn, volcano", ", ")
)

// corpusClass returns the name of class n, which is a subclass of group n%78.
func corpusClass(n int) string {
	places := []string{"alpine", "coastal", "rural", "urban", "royal", "sacred", "medieval", "ancient", "protected",
		"abandoned", "national"}
	sizes := []string{"", "great ", "little ", "upper ", "lower ", "old ", "new "}
	groups := len(corpusGroups)
	return sizes[n/groups/len(places)] + places[n/groups%len(places)] + " " + corpusGroups[n%groups]
}

func corpusCategory(i int, all []Category) Category {
	c := Category{Landmark: labels.LandmarkID(i), Title: "Category:" + fmt.Sprintf(corpusNames[i%len(corpusNames)], i),
		Item: fmt.Sprintf("Q%d", 10_000_000+i), Claims: corpusPlace(i)}
	class := (i * 7919) % corpusClasses
	c.Values = []Value{{Text: corpusClass(class)}}
	if i%9 == 0 {
		c.Values = append(c.Values, Value{Text: corpusClass((class + 1) % corpusClasses)})
	}
	if i%11 == 0 {
		c.Values[0].Qualifiers = []string{fmt.Sprintf("%d–%d", 1000+i%900, 1901+i%100)}
	}
	switch kind := i % 100; {
	case kind < 5 && i > 100:
		c.Variant, c.Target, c.Item, c.Values = SoftRedirect, all[i-50].Title, "", nil
	case kind < 7 && i > 100:
		c.Variant, c.Target, c.Item, c.Values = HardRedirect, all[i-50].Title, "", nil
	case kind < 9:
		c.Variant, c.Item, c.Values = Missing, "", nil
	case kind == 9:
		c.Variant, c.Values = Disambiguation, nil
	case kind < 22:
		c.Topic = fmt.Sprintf("Q%d", 20_000_000+i)
	case kind < 28:
		c.Variant, c.Values = NoTag, nil
	}
	return c
}

// Expected returns the outcome and the tag that a scrape with the policy "first" must find for
// each category. It supports only the variants that Corpus uses.
func Expected(categories []Category) (outcomes []labels.Outcome, tags []string) {
	at := make(map[string]*Category, len(categories))
	for i := range categories {
		at[categories[i].Title] = &categories[i]
	}
	for i := range categories {
		c := &categories[i]
		if c.Target != "" {
			c = at[c.Target]
		}
		outcome, tag := labels.OK, ""
		switch c.Variant {
		case Missing:
			outcome = labels.Missing
		case Disambiguation:
			outcome = labels.Disambiguation
		case NoTag:
			outcome = labels.NoTag
		default:
			tag = c.Values[0].Text
		}
		outcomes, tags = append(outcomes, outcome), append(tags, tag)
	}
	return outcomes, tags
}
