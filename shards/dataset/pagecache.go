package dataset

import (
	"slices"
	"sync"
)

// pageBytes is what a pageCache holds in a build. Its workers read a few neighbouring rows at a
// time, of as many shards as there are workers.
const pageBytes = 256 << 20

// pageCache caches the most recently read pages of Parquet files. It is safe for concurrent use.
type pageCache struct {
	mu    sync.Mutex
	pages []cachedPage // the last used last
	bytes int          // of their images
	limit int          // of bytes, unless a single page has more
}

type cachedPage struct {
	table  *parquetTable
	page   int
	images [][]byte
	bytes  int
}

// get returns the images of a page. The caller must not change them.
func (c *pageCache) get(t *parquetTable, page int) ([][]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.pages, func(p cachedPage) bool { return p.table == t && p.page == page })
	if at >= 0 {
		found := c.pages[at]
		c.pages = append(slices.Delete(c.pages, at, at+1), found)
		return found.images, nil
	}
	images, err := t.images(t.pages[page])
	if err != nil {
		return nil, err
	}
	read := cachedPage{table: t, page: page, images: images}
	for _, data := range images {
		read.bytes += len(data)
	}
	for len(c.pages) > 0 && c.bytes+read.bytes > c.limit {
		c.bytes -= c.pages[0].bytes
		c.pages = slices.Delete(c.pages, 0, 1)
	}
	c.pages, c.bytes = append(c.pages, read), c.bytes+read.bytes
	return images, nil
}
