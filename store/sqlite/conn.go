package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	sqlite3 "modernc.org/sqlite"
)

// conn is one connection to the database with its prepared statements. It is
// used by one goroutine at a time. It goes straight to the driver, because
// database/sql's pool, locks and conversions cost as much as SQLite does here.
type conn struct {
	driver driver.Conn
	stmts  map[string]stmt
	args   []driver.NamedValue
	row    []driver.Value
}

// stmt is what the driver's statements can do.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// dial opens a connection. mode is SQLite's: rw, rwc, ro.
func dial(path, mode string, pragmas ...string) (*conn, error) {
	q := url.Values{"mode": {mode}, "_pragma": append([]string{"busy_timeout(5000)", "temp_store(memory)"}, pragmas...)}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	connector, err := sqlite3.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{driver: c, stmts: map[string]stmt{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, st := range c.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, c.driver.Close())...)
}

// prepare returns the prepared statement for sql, which is a constant.
func (c *conn) prepare(sql string) (stmt, error) {
	if st, ok := c.stmts[sql]; ok {
		return st, nil
	}
	ds, err := c.driver.Prepare(sql)
	if err != nil {
		return nil, err
	}
	st, ok := ds.(stmt)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver's %T lacks context methods", ds)
	}
	c.stmts[sql] = st
	return st, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement. Arguments are int64, string, []byte or nil.
func (c *conn) exec(sql string, args ...driver.Value) error {
	return c.execContext(context.Background(), sql, args...)
}

// execContext is exec that ends early when ctx does.
func (c *conn) execContext(ctx context.Context, sql string, args ...driver.Value) error {
	_, err := c.run(ctx, sql, args)
	return err
}

// insert runs an INSERT and returns the new row's id.
func (c *conn) insert(sql string, args ...driver.Value) (int64, error) {
	r, err := c.run(context.Background(), sql, args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (c *conn) run(ctx context.Context, sql string, args []driver.Value) (driver.Result, error) {
	st, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, c.bind(args))
}

// script runs statements that are used once.
func (c *conn) script(sql string) error {
	ds, err := c.driver.Prepare(sql)
	if err != nil {
		return err
	}
	defer ds.Close()
	_, err = ds.(stmt).ExecContext(context.Background(), nil)
	return err
}

// query calls each with every row. The row is valid during the call.
func (c *conn) query(sql string, args []driver.Value, each func(row row) error) error {
	st, err := c.prepare(sql)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	n := len(rows.Columns())
	if cap(c.row) < n {
		c.row = make([]driver.Value, n)
	}
	values := c.row[:n]
	for {
		err := rows.Next(values)
		if err == nil {
			err = each(values)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, rows.Close())
		}
	}
}

// one is query for at most one row; found tells whether there was one.
func (c *conn) one(sql string, args []driver.Value, each func(row row) error) (found bool, err error) {
	err = c.query(sql, args, func(r row) error {
		found = true
		return each(r)
	})
	return found, err
}

// number returns the first column of the only row, 0 if there is none.
func (c *conn) number(sql string, args ...driver.Value) (n int64, err error) {
	_, err = c.one(sql, args, func(r row) error {
		n = r.int(0)
		return nil
	})
	return n, err
}

// row is a row of a result.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

// blob returns a copy that the driver made. It is nil for NULL and empty.
func (r row) blob(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// args makes a list of arguments for query.
func args(list ...driver.Value) []driver.Value { return list }
