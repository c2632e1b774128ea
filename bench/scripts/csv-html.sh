#!/bin/sh
# A page with the largest orders.
page=out/page.html
cat > "$page" <<EOF
<html><head><title>Orders</title></head>
<body><table>
EOF
tail -n +2 orders.csv | sort -t, -k6,6nr -k1,1n | head -n 25 | while IFS=, read -r id date who region product quantity price; do
    cat >> "$page" <<EOF
<tr><td>$id</td><td>$date</td><td>$who</td><td>$region</td><td>$product</td><td>$quantity</td><td>$price</td></tr>
EOF
done
echo "</table></body></html>" >> "$page"
grep -c '<tr>' "$page"
sed -n 's/.*<title>\(.*\)<.title>.*/\1/p' "$page"
