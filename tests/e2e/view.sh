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

check "a page is written" "$aiflame" view full.data -o page.html
check "it says by whom" grep -q '^<!-- made by aiflame' page.html
check "it allows its own script and no other" grep -q "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]*'; style-src 'sha256-" page.html
check "nothing in it is from elsewhere" not grep -qE 'https?://(localhost|[a-z0-9.-]+\.[a-z]{2,})/[^"]*\.(js|css|png)|src="|@import' page.html
script_hash() { # of the last script
	python3 -c '
import base64, hashlib, re, sys
text = open("page.html", encoding="utf-8").read()
script = re.findall(r"<script>(.*?)</script>", text, re.S)[-1]
style = re.findall(r"<style>(.*?)</style>", text, re.S)[-1]
sys.exit(0 if all("sha256-" + base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() in text for t in (script, style)) else 1)'
}
check "the hashes are those of its script and style" script_hash
sizes() {
	python3 -c '
import re, sys
text = open("page.html", encoding="utf-8").read()
script = len(re.findall(r"<script>(.*?)</script>", text, re.S)[-1].encode())
style = len(re.findall(r"<style>(.*?)</style>", text, re.S)[-1].encode())
print("#", script, "bytes of script,", style, "of style")
sys.exit(not (script <= 60000 and style <= 12000))'
}
check "script and style are small" sizes
cp page.html before.html
check "it can be written over" "$aiflame" view full.data -o page.html
check "the same profile gives the same page, byte by byte" cmp -s page.html before.html
check "- is standard output" sh -c '"$1" view full.data -o - | cmp -s - before.html' sh "$aiflame"
check "the flame scope alone is smaller" sh -c '"$1" scope full.data -o scope.html && [ "$(wc -c <scope.html)" -lt "$(wc -c <page.html)" ]' sh "$aiflame"

echo "somebody's" >notes.txt
check "what is somebody else's is not overwritten" not "$aiflame" view full.data -o notes.txt
check "and still there" grep -q somebody notes.txt
check "nor is the profile" not "$aiflame" view full.data -o full.data
check "a profile that is not there is said" says "nothing.data" "$aiflame" view nothing.data -o x.html
check "and leaves no file" not test -e x.html
check "a size that is too small is said" says "max-size" "$aiflame" view full.data -o x.html --max-size 20K
check "and leaves no file, either" not test -e x.html
check "a full disk is said" not "$aiflame" view full.data -o /dev/full

# ---- without -o
check "without -o the page goes into the cache directory" "$aiflame" view full.data
page=$("$aiflame" view full.data 2>said.txt)
check "its name is printed" test -s "$page"
check "in the cache" sh -c 'case $1 in "$2"/aiflame/full.data-view-*.html) ;; *) exit 1 ;; esac' sh "$page" "$XDG_CACHE_HOME"
check "which is for nobody else" test "$(stat -c %a "$XDG_CACHE_HOME/aiflame")" = 700
check "what to do without a display is said" grep -q "no display here: open this file in a browser" said.txt
check "a second one takes its place" test "$(find "$XDG_CACHE_HOME" -name '*.html' | wc -l)" = 1
mkdir bin
cat >bin/xdg-open <<'END'
#!/bin/sh
echo "$1" >opened.txt
END
chmod +x bin/xdg-open
check "a browser is asked to show it" env PATH="$work/bin:$PATH" BROWSER=x "$aiflame" view full.data
check "this page" grep -qxF "$page" opened.txt
printf '#!/bin/sh\nexit 3\n' >bin/xdg-open
check "one that fails is said" env PATH="$work/bin:$PATH" BROWSER=x sh -c '"$1" view full.data 2>&1 | grep -q "xdg-open did not show it"' sh "$aiflame"
check "with -o no browser is asked" sh -c 'rm opened.txt; PATH=$1/bin:$PATH BROWSER=x "$2" view full.data -o page.html && [ ! -e opened.txt ]' sh "$work" "$aiflame"
check "without a home it goes into a new directory" env -u HOME -u XDG_CACHE_HOME TMPDIR="$work" "$aiflame" scope full.data
check "below TMPDIR" test -s aiflame-??????/page.html
done_testing
