#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `aiflame view` and `aiflame scope` as commands: where pages go, what is refused, what is said. page_browser.sh has the
# pages themselves.
. "$(dirname "$0")/tap.sh"
"$build/tests/e2e/golden_profiles" full full.data "$root/tests/golden/cubin" || exit 1
unset DISPLAY WAYLAND_DISPLAY BROWSER
HOME=$work/home XDG_CACHE_HOME=$work/cache
export HOME XDG_CACHE_HOME
mkdir "$HOME"
not() { ! "$@"; }

check "view writes a page" "$aiflame" view full.data -o page.html
check "the page says by whom it was made" grep -q '^<!-- made by aiflame' page.html
check "the page allows its own script and no other" grep -q "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]*'; style-src 'sha256-" page.html
check "the page takes nothing from elsewhere" not grep -qE 'https?://(localhost|[a-z0-9.-]+\.[a-z]{2,})/[^"]*\.(js|css|png)|src="|@import' page.html
script_hash() { # of the last script
	python3 -c '
import base64, hashlib, re, sys
text = open("page.html", encoding="utf-8").read()
script = re.findall(r"<script>(.*?)</script>", text, re.S)[-1]
style = re.findall(r"<style>(.*?)</style>", text, re.S)[-1]
sys.exit(0 if all("sha256-" + base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() in text for t in (script, style)) else 1)'
}
check "the page allows the hashes of its script and style" script_hash
sizes() {
	python3 -c '
import re, sys
text = open("page.html", encoding="utf-8").read()
script = len(re.findall(r"<script>(.*?)</script>", text, re.S)[-1].encode())
style = len(re.findall(r"<style>(.*?)</style>", text, re.S)[-1].encode())
print("#", script, "bytes of script,", style, "of style")
sys.exit(not (script <= 100000 and style <= 15000))'
}
check "script and style of the page are small" sizes
cp page.html before.html
check "view writes over its own page" "$aiflame" view full.data -o page.html
check "view of the same profile gives the same page, byte by byte" cmp -s page.html before.html
check "view -o - writes to standard output" sh -c '"$1" view full.data -o - | cmp -s - before.html' sh "$aiflame"
check "the page of scope alone is smaller than that of view" sh -c '"$1" scope full.data -o scope.html && [ "$(wc -c <scope.html)" -lt "$(wc -c <page.html)" ]' sh "$aiflame"

echo "somebody's" >notes.txt
check "view does not write over somebody's file" not "$aiflame" view full.data -o notes.txt
check "a file that view did not write over is as it was" grep -q somebody notes.txt
check "view does not write over its profile" not "$aiflame" view full.data -o full.data
check "view names a profile that is not there" says "nothing.data" "$aiflame" view nothing.data -o x.html
check "view of a profile that is not there leaves no file" not test -e x.html
check "view names --max-size where the page would be larger" says "max-size" "$aiflame" view full.data -o x.html --max-size 20K
check "view with a too small --max-size leaves no file" not test -e x.html
check "view to a full disk is a failure" not "$aiflame" view full.data -o /dev/full

# ---- without -o
check "view without -o writes into the cache directory" "$aiflame" view full.data
page=$("$aiflame" view full.data 2>said.txt)
check "view without -o prints the name of the page" test -s "$page"
check "view without -o names the page in the cache directory after the profile" sh -c 'case $1 in "$2"/aiflame/full.data-view-*.html) ;; *) exit 1 ;; esac' sh "$page" "$XDG_CACHE_HOME"
check "the cache directory of pages is for nobody else" test "$(stat -c %a "$XDG_CACHE_HOME/aiflame")" = 700
check "view without a display says to open the file in a browser" grep -q "no display here: open this file in a browser" said.txt
check "view a second time takes the place of the page in the cache directory" test "$(find "$XDG_CACHE_HOME" -name '*.html' | wc -l)" = 1
mkdir bin
cat >bin/xdg-open <<'END'
#!/bin/sh
echo "$1" >opened.txt
END
chmod +x bin/xdg-open
check "view asks a browser to show the page" env PATH="$work/bin:$PATH" BROWSER=x "$aiflame" view full.data
check "view gives the browser the page that it wrote" grep -qxF "$page" opened.txt
printf '#!/bin/sh\nexit 3\n' >bin/xdg-open
check "view says that the browser failed" env PATH="$work/bin:$PATH" BROWSER=x sh -c '"$1" view full.data 2>&1 | grep -q "xdg-open did not show it"' sh "$aiflame"
check "view -o asks no browser" sh -c 'rm opened.txt; PATH=$1/bin:$PATH BROWSER=x "$2" view full.data -o page.html && [ ! -e opened.txt ]' sh "$work" "$aiflame"
check "view without a home directory writes into a new directory" env -u HOME -u XDG_CACHE_HOME TMPDIR="$work" "$aiflame" scope full.data
check "view without a home directory writes below TMPDIR" test -s aiflame-??????/page.html

# ---- Ctrl-C while a page is made, which a disassembler holds up
cat >bin/nvdisasm <<'END'
#!/bin/sh
echo $$ >disassembling.tmp
mv disassembling.tmp disassembling
exec sleep 60
END
chmod +x bin/nvdisasm
python3 -c 'import sqlite3; sqlite3.connect("full.data").executescript("DELETE FROM cache")'
mkdir making
stopped_by() { # SIGNAL STATUS
	rm -f disassembling
	PATH=$work/bin:$PATH "$aiflame" view full.data -o making/page.html 2>said.txt &
	making=$!
	wait_until test -s disassembling
	find making -name '*.tmp' >unfinished.txt
	kill -"$1" $making
	wait $making
	status=$?
	kill "$(cat disassembling)"
	[ -s unfinished.txt ] && [ $status = "$2" ] && [ -z "$(ls making)" ]
}
check "view leaves no file behind when it is terminated" stopped_by TERM 143
done_testing
