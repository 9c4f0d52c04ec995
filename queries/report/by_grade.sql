-- id: by_grade
-- title: responses by exposure, disclosure and grade
-- needs: responses
-- version: 1
-- why: the grade is derived from the two axes; this shows from which cells
SELECT exposure, disclosure, grade, COUNT(*) AS responses
FROM responses
WHERE NOT aborted AND excluded IS NULL
GROUP BY exposure, disclosure, grade
ORDER BY exposure, disclosure, grade
